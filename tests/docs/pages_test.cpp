// pages_test.cpp -- what the pages say is there: every link and path, every command's verb and
// flags, every test that docs/field_reports.md names, every file of data/. Planted texts show that
// each check can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/files.h"
#include "base/settings.h"
#include "cli/run_program.h"
#include "docs/markdown.h"

namespace gemmsmith::docs {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = GEMMSMITH_SOURCE_DIR;

using Finder = std::vector<Mention> (*)(std::string_view, std::string_view);

std::vector<Mention> mentions(Finder find) {
  std::vector<Mention> all;
  for (const fs::path& page : pages(kTree)) {
    const auto text = read_file(page);
    if (!text) ADD_FAILURE() << text.error().what;
    if (!text) continue;
    for (Mention& mention : find(page.lexically_relative(kTree).string(), *text))
      all.push_back(std::move(mention));
  }
  return all;
}

std::vector<std::string> texts(const std::vector<Mention>& mentions) {
  std::vector<std::string> all;
  for (const Mention& mention : mentions) all.push_back(mention.text);
  return all;
}

using Texts = std::vector<std::string>;

TEST(Pages, LinksLeadToFiles) {
  const auto all = mentions(links);
  EXPECT_GT(all.size(), 30U) << "the links were not found";
  for (const Mention& link : all)
    EXPECT_TRUE(fs::exists((kTree / link.page).parent_path() / link.text))
        << link.page << ":" << link.line << ": no file " << link.text;
}

TEST(Pages, EveryPictureIsOnOne) {
  std::set<std::string> shown;
  for (const Mention& link : mentions(links))
    shown.insert(((kTree / link.page).parent_path() / link.text).lexically_normal().string());
  int pictures = 0;
  for (const auto& entry : fs::directory_iterator(kTree / "docs/images")) {
    ++pictures;
    EXPECT_EQ(shown.count(entry.path().lexically_normal().string()), 1U)
        << "no page shows " << entry.path().filename();
  }
  EXPECT_GT(pictures, 3);
}

// A page may name a program by its source's path, and several files by their common beginning.
TEST(Pages, PathsInCodeExist) {
  std::set<std::string> files;
  for (const char* folder : {"src", "docs", "tests", "data", "scripts", "bench", "kernels",
                             "examples", "include", "python"})
    for (const auto& entry : fs::recursive_directory_iterator(kTree / folder))
      files.insert(entry.path().lexically_relative(kTree).string());
  const auto all = mentions(paths);
  EXPECT_GT(all.size(), 50U) << "the paths were not found";
  for (const Mention& path : all) {
    std::string begin = path.text;
    while (!begin.empty() && begin.back() == '/') begin.pop_back();
    const auto it = files.lower_bound(begin);
    EXPECT_TRUE(it != files.end() && it->rfind(begin, 0) == 0)
        << path.page << ":" << path.line << ": nothing begins with " << path.text;
  }
}

TEST(Pages, CommandsHaveKnownVerbsAndFlags) {
  const auto all = mentions(commands);
  EXPECT_GT(all.size(), 20U) << "the commands were not found";
  std::map<std::string, std::string> help;
  for (const Mention& command : all) {
    const std::string verb = command.text.substr(10, command.text.find_first_of(" \n", 10) - 10);
    if (verb == "worker") continue;  // the tuner's own
    auto [it, is_new] = help.try_emplace(verb);
    if (is_new) {
      const test::ProgramResult result = test::run_program({verb, "--help"});
      if (result.exit_code == 0) it->second = result.out + " ";
    }
    const std::string where = command.page + ":" + std::to_string(command.line) + ": ";
    EXPECT_FALSE(it->second.empty()) << where << "no verb " << verb;
    for (const std::string& flag : flags(command.text))
      EXPECT_TRUE(it->second.find(flag + " ") != std::string::npos ||
                  it->second.find(flag + "=") != std::string::npos)
          << where << verb << " has no " << flag;
  }
}

TEST(Pages, FieldReportsNameTestsThatExist) {
  const auto page = read_file(kTree / "docs/field_reports.md");
  ASSERT_TRUE(page) << page.error().what;
  std::vector<std::string> sources;
  for (const auto& entry : fs::recursive_directory_iterator(kTree / "tests")) {
    const fs::path extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".h" || extension == ".py")
      sources.push_back(*read_file(entry.path()));
  }
  const auto named = named_tests("docs/field_reports.md", *page);
  EXPECT_GT(named.size(), 150U) << "the names were not found";
  for (const std::string& unknown : unknown_tests(named, sources)) ADD_FAILURE() << unknown;
}

TEST(Pages, EveryFileOfDataIsDescribed) {
  const auto page = read_file(kTree / "data/README.md");
  ASSERT_TRUE(page) << page.error().what;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kTree / "data")) {
    if (!entry.is_regular_file() || entry.path().filename() == "README.md") continue;
    ++files;
    std::string name = entry.path().filename().string();
    name.resize(name.rfind(name.find(".csv") != std::string::npos ? ".csv" : "."));
    EXPECT_NE(page->find(name), std::string::npos)
        << "data/README.md does not name " << entry.path().lexically_relative(kTree);
  }
  EXPECT_GT(files, 20);
}

// BUG: a bare name, which the loader looks for in the system's folders only.
TEST(Pages, PreloadLinesWorkAsTyped) {
  const auto all = mentions(preloads);
  EXPECT_GT(all.size(), 4U) << "the lines were not found";
  const std::string in_build = GEMMSMITH_PRELOAD_IN_BUILD;  // relative to the build folder
  for (const Mention& preload : all) {
    const std::string where = preload.page + ":" + std::to_string(preload.line) + ": ";
    if (preload.text.rfind("$(", 0) == 0) {
      EXPECT_NE(preload.text.find("preload_path()"), std::string::npos) << where << preload.text;
      continue;
    }
    const fs::path path = preload.text;
    EXPECT_TRUE(path.is_absolute() || preload.text.rfind("$PWD/", 0) == 0)
        << where << preload.text << " is no whole path";
    EXPECT_EQ(path.filename(), fs::path(in_build).filename()) << where;
    const std::size_t at = preload.text.find("build/");
    if (at == std::string::npos) continue;
    EXPECT_EQ(preload.text.substr(preload.text.find('/', at + 6) + 1), in_build) << where;
  }
}

// The settings' own, made from their names, and those that sources ask for by whole names.
TEST(Pages, SettingsAreTheVariablesThatAreRead) {
  const auto page = read_file(kTree / "docs/settings.md");
  ASSERT_TRUE(page) << page.error().what;
  std::set<std::string> said;
  for (const Mention& variable : variables("docs/settings.md", *page)) said.insert(variable.text);
  std::set<std::string> read;
  for (const auto& [name, value] : Settings::known()) {
    std::string variable = "GEMMSMITH_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    read.insert(variable);
  }
  for (const char* folder : {"src", "python"})
    for (const auto& entry : fs::recursive_directory_iterator(kTree / folder))
      if (const fs::path type = entry.path().extension();
          type == ".cpp" || type == ".h" || type == ".py")
        for (const std::string& variable : variables_of_source(*read_file(entry.path())))
          read.insert(variable);
  EXPECT_GT(read.size(), 15U) << "the names were not found";
  for (const std::string& variable : read)
    EXPECT_EQ(said.count(variable), 1U) << "docs/settings.md lacks " << variable;
  for (const std::string& variable : said)
    EXPECT_EQ(read.count(variable), 1U)
        << "docs/settings.md has " << variable << ", which nothing reads";
}

TEST(Markdown, PreloadsAreWhatTheLineWillHave) {
  EXPECT_EQ(texts(preloads("p",
                           "`LD_PRELOAD=a.so`, LD_PRELOAD=no\n```\nlib=/b.so  # x\nA=1 "
                           "LD_PRELOAD=$lib c\nLD_PRELOAD=$(d \"e f\") g\n```\n")),
            (Texts{"a.so", "/b.so", "$(d \"e f\")"}));
}

TEST(Markdown, VariablesStandInCodeAndInWholeStrings) {
  EXPECT_EQ(texts(variables("p", "GEMMSMITH_NO `GEMMSMITH_A=1`\n```\nGEMMSMITH_B_C=2 d\n```\n")),
            (Texts{"GEMMSMITH_A", "GEMMSMITH_B_C"}));
  EXPECT_EQ(variables_of_source("getenv(\"GEMMSMITH_A\") \"GEMMSMITH_B or\" "
                                "\"GEMMSMITH_STATUS_C\" GEMMSMITH_D \"GEMMSMITH_\""),
            (Texts{"GEMMSMITH_A"}));
}

TEST(Markdown, LinksAreFilesOutsideOfCode) {
  EXPECT_EQ(texts(links("p", "[a](x.md) [b](y.md#part) [c](https://z)\n```\n[d](w.md)\n```\n")),
            (Texts{"x.md", "y.md"}));
}

TEST(Markdown, PathsAreThoseOfTheTree) {
  EXPECT_EQ(texts(paths("p",
                        "src/no/code `src/a.h` `/etc/b` `recorded:data/c.csv` `kernels/NAME.cu`\n"
                        "```\nscripts/d.sh data/{e,f}\n```\n")),
            (Texts{"src/a.h", "data/c.csv", "scripts/d.sh"}));
}

TEST(Markdown, CommandsEndWhereTheShellEndsThem) {
  EXPECT_EQ(
      texts(commands("p",
                     "gemmsmith is no command; `gemmsmith a --b` is\n"
                     "```\nbuild/gemmsmith c \\\n  --d  # why\ngemmsmith e; gemmsmith f\n```\n")),
      (Texts{"gemmsmith a --b", "gemmsmith c    --d  ", "gemmsmith e", "gemmsmith f"}));
}

TEST(Markdown, FlagsAreWords) {
  EXPECT_EQ(flags("gemmsmith a --b-c 3 --d=x-- -q e--f"), (Texts{"--b-c", "--d"}));
}

TEST(Markdown, NamesOfTestsStandInTables) {
  EXPECT_EQ(
      texts(named_tests("p",
                        "`Not.InATable`\n| `Suite.Case`, `.Other`, `…Label` | `Begin.M5_…` "
                        "`Each…Label` `blas.h` `test_a[b]` |\n| `.Alone` |\n")),
      (Texts{"Suite.Case", "Suite.Other", "Suite…Label", "Begin.M5_…", "Each…Label", "test_a[b]"}));
}

TEST(Markdown, TestsThatAreNotThereAreNamedWithTheirPlace) {
  const std::vector<std::string> sources = {
      "TEST(One, Case)\nTEST_P(\n    Two, M5_Case)\n{\"label\"}", "def test_a():"};
  const auto unknown_of = [&](const char* name) {
    return unknown_tests({{"page.md", 7, name}}, sources);
  };
  for (const char* known : {"One.Case", "One.*", "Two.M5_…", "Two…label", "test_a", "test_a[b]"})
    EXPECT_EQ(unknown_of(known), Texts{}) << known;
  for (const std::string unknown :
       {"One.Other", "Three.*", "Two.M6_…", "Two…lab", "Three…label", "test_b"})
    EXPECT_EQ(unknown_of(unknown.c_str()), Texts{"page.md:7: no test " + unknown});
}

}  // namespace
}  // namespace gemmsmith::docs
