// markdown.h -- what the project's pages promise: links, paths, commands and names of tests, each
// with the line where it stands.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gemmsmith::docs {

struct Mention {
  std::string page;  // relative to the source tree
  int line = 0;      // 1 is the first
  std::string text;
};

// Every *.md of `tree` that the project maintains: at its top, in docs/ and in data/.
std::vector<std::filesystem::path> pages(const std::filesystem::path& tree);

// Targets of links that are files: without the part after '#', and none with a scheme.
std::vector<Mention> links(std::string_view page, std::string_view text);

// Words in code (spans and fenced blocks) that are paths below one of the tree's folders; those
// with a placeholder in them (capital letters alone, braces, stars) are left out.
std::vector<Mention> paths(std::string_view page, std::string_view text);

// Commands in code that call the program: from `gemmsmith` to the end of the command, lines that
// end in '\' joined, comments and what follows ';', '|' or '&' cut off.
std::vector<Mention> commands(std::string_view page, std::string_view text);

// The names of tests in a table's rows: "Suite.Case", "Suite.*", "Suite.Begin…", "Suite…Label" and
// "test_name". A span that begins with '.' or '…' belongs to the suite named before it in its row.
std::vector<Mention> named_tests(std::string_view page, std::string_view text);

// What LD_PRELOAD is set to in code; `$lib` is replaced by what the page sets it to before.
std::vector<Mention> preloads(std::string_view page, std::string_view text);

// Words GEMMSMITH_… in code: variables of the environment.
std::vector<Mention> variables(std::string_view page, std::string_view text);

// The same in source text: whole strings "GEMMSMITH_…", without the C API's names of statuses.
std::vector<std::string> variables_of_source(std::string_view source);

// The words of a command that begin with "--", without a value behind '='.
std::vector<std::string> flags(std::string_view command);

// A page or a test is missing what it names: `page:line: reason` each. The names known are those of
// the C++ tests ("Suite.Case") and of Python's ("test_name") in `tests`; a "…Label" must stand
// somewhere in their text.
std::vector<std::string> unknown_tests(const std::vector<Mention>& named,
                                       const std::vector<std::string>& sources);

}  // namespace gemmsmith::docs
