// markdown.cpp -- a plain reader of Markdown: fences and spans of code, links, table rows.
#include "docs/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace gemmsmith::docs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEllipsis = "…";

struct Line {
  int number = 0;
  bool fenced = false;
  std::string text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::istringstream stream{std::string(text)};
  bool fenced = false;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.rfind("```", 0) == 0)
      fenced = !fenced;
    else
      lines.push_back({number, fenced, line});
  }
  return lines;
}

// The spans of code of a line; one that goes on in the next line counts up to the line's end.
std::vector<std::string> spans(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t begin = line.find('`'); begin != std::string::npos;) {
    const std::size_t end = line.find('`', begin + 1);
    if (end == std::string::npos) {
      found.push_back(line.substr(begin + 1));
      break;
    }
    found.push_back(line.substr(begin + 1, end - begin - 1));
    begin = line.find('`', end + 1);
  }
  return found;
}

std::vector<std::string> code_of(const Line& line) {
  return line.fenced ? std::vector<std::string>{line.text} : spans(line.text);
}

std::vector<Mention> all_matches(std::string_view page, const Line& line, const std::string& text,
                                 const std::regex& pattern) {
  std::vector<Mention> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.push_back({std::string(page), line.number, (*it)[1]});
  return found;
}

void append(std::vector<Mention>& to, std::vector<Mention> more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool has_placeholder(const std::string& path) {
  if (path.find_first_of("{}*<>$") != std::string::npos) return true;
  static const std::regex capitals("(^|[/.])[A-Z]{4,}([/.]|$)");
  return std::regex_search(path, capitals) && path.find("README") == std::string::npos;
}

}  // namespace

std::vector<fs::path> pages(const fs::path& tree) {
  std::vector<fs::path> found;
  for (const fs::path& folder : {tree, tree / "docs", tree / "data"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Mention> links(std::string_view page, std::string_view text) {
  static const std::regex target(R"(\]\(([^)\s#]+)(?:#[^)]*)?\))");
  std::vector<Mention> found;
  for (const Line& line : lines_of(text))
    if (!line.fenced)
      for (Mention& link : all_matches(page, line, line.text, target))
        if (link.text.find("://") == std::string::npos) found.push_back(std::move(link));
  return found;
}

std::vector<Mention> paths(std::string_view page, std::string_view text) {
  static const std::regex path(
      R"x((?:^|[\s(=:])((?:src|docs|tests|data|scripts|bench|kernels|examples|include|python)/[^\s,;:)"]+))x");
  std::vector<Mention> found;
  for (const Line& line : lines_of(text))
    for (const std::string& code : code_of(line))
      for (Mention& mention : all_matches(page, line, code, path))
        if (!has_placeholder(mention.text)) found.push_back(std::move(mention));
  return found;
}

std::vector<Mention> commands(std::string_view page, std::string_view text) {
  static const std::regex command(R"((?:^|[\s/])(gemmsmith [a-z]+(?=[\s#;|&]|$)[^#;|&]*))");
  std::vector<Mention> found;
  std::string pending;
  for (const Line& line : lines_of(text))
    for (const std::string& code : code_of(line)) {
      pending += code;
      if (line.fenced && !pending.empty() && pending.back() == '\\') {
        pending.back() = ' ';
        continue;
      }
      append(found, all_matches(page, line, pending, command));
      pending.clear();
    }
  return found;
}

std::vector<Mention> preloads(std::string_view page, std::string_view text) {
  static const std::regex preload(R"x(LD_PRELOAD=(\$\(.*\)|[^\s`]+))x");
  static const std::regex assignment(R"(^(\w+)=(\S+))");
  std::map<std::string, std::string> assigned;
  std::vector<Mention> found;
  for (const Line& line : lines_of(text)) {
    std::smatch match;
    if (line.fenced && std::regex_search(line.text, match, assignment))
      assigned["$" + match[1].str()] = match[2];
    for (const std::string& code : code_of(line))
      for (Mention& mention : all_matches(page, line, code, preload)) {
        if (const auto it = assigned.find(mention.text); it != assigned.end())
          mention.text = it->second;
        found.push_back(std::move(mention));
      }
  }
  return found;
}

std::vector<Mention> variables(std::string_view page, std::string_view text) {
  static const std::regex variable(R"(\b(GEMMSMITH_[A-Z_]+)\b)");
  std::vector<Mention> found;
  for (const Line& line : lines_of(text))
    for (const std::string& code : code_of(line))
      append(found, all_matches(page, line, code, variable));
  return found;
}

std::vector<std::string> variables_of_source(std::string_view source) {
  static const std::regex variable(R"x("(GEMMSMITH_(?!STATUS_)[A-Z_]*[A-Z])")x");
  const std::string text(source);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), variable), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::vector<Mention> named_tests(std::string_view page, std::string_view text) {
  static const std::regex whole(R"(^([A-Z]\w*)(\.|…).*$)");
  std::vector<Mention> found;
  for (const Line& line : lines_of(text)) {
    if (line.text.rfind('|', 0) != 0) continue;
    std::string suite;
    for (const std::string& span : spans(line.text)) {
      std::smatch match;
      std::string name;
      if (std::regex_match(span, match, whole)) {
        suite = match[1];
        name = span;
      } else if (!suite.empty() && (span.rfind('.', 0) == 0 || span.rfind(kEllipsis, 0) == 0)) {
        name = suite + span;
      } else if (span.rfind("test_", 0) == 0 && span.find('.') == std::string::npos) {
        name = span;
      } else {
        continue;
      }
      found.push_back({std::string(page), line.number, name});
    }
  }
  return found;
}

std::vector<std::string> flags(std::string_view command) {
  static const std::regex flag(R"((?:^|\s)(--[a-z][a-z0-9-]*))");
  const std::string text(command);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), flag), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::vector<std::string> unknown_tests(const std::vector<Mention>& named,
                                       const std::vector<std::string>& sources) {
  static const std::regex cpp(
      R"((?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+))");
  static const std::regex python(R"(def (test_\w+)\()");
  std::set<std::string> cases;
  for (const std::string& text : sources) {
    for (std::sregex_iterator it(text.begin(), text.end(), cpp), end; it != end; ++it)
      cases.insert((*it)[1].str() + "." + (*it)[2].str());
    for (std::sregex_iterator it(text.begin(), text.end(), python), end; it != end; ++it)
      cases.insert((*it)[1]);
  }
  const auto begins = [&](const std::string& prefix) {
    const auto it = cases.lower_bound(prefix);
    return it != cases.end() && it->rfind(prefix, 0) == 0;
  };
  const auto stands = [&](const std::string& label) {
    const std::regex word("\\b" + label + "\\b");
    return std::any_of(sources.begin(), sources.end(), [&](const std::string& text) {
      return text.find(label) != std::string::npos && std::regex_search(text, word);
    });
  };
  const auto known = [&](const std::string& name) {
    if (const std::size_t cut = name.find('['); cut != std::string::npos)
      return cases.count(name.substr(0, cut)) == 1;
    if (name.back() == '*') return begins(name.substr(0, name.size() - 1));
    const std::size_t cut = name.find(kEllipsis);
    if (cut == std::string::npos) return cases.count(name) == 1;
    const std::string before = name.substr(0, cut);
    const std::string label = name.substr(cut + kEllipsis.size());
    return begins(label.empty() ? before : before + ".") && (label.empty() || stands(label));
  };
  std::vector<std::string> unknown;
  for (const Mention& mention : named)
    if (!known(mention.text))
      unknown.push_back(fmt::format("{}:{}: no test {}", mention.page, mention.line, mention.text));
  return unknown;
}

}  // namespace gemmsmith::docs
