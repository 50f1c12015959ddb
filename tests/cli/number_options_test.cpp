// Every numeric flag of every verb takes decimal numbers, whole texts and nothing else. CLI11 reads
// 010 as octal, an empty value as 0 and too large ones as the largest.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

constexpr const char* kVerbs[] = {"tune",   "bench",   "verify",  "profile", "eval",
                                  "space",  "explain", "compile", "store",   "export",
                                  "report", "train",   "monitor", "info"};

struct NumericFlag {
  std::string verb, flag;
  bool is_whole = false;
};

// As --help names them; no verb's flags are listed here, so a new one is tested, too.
std::vector<NumericFlag> numeric_flags() {
  std::vector<NumericFlag> flags;
  const std::regex line("^  (--[a-z-]+) (INT|UINT|FLOAT)\\b");
  for (const char* verb : kVerbs) {
    std::istringstream help(run_program({verb, "--help"}).out);
    for (std::string text; std::getline(help, text);)
      if (std::smatch found; std::regex_search(text, found, line))
        flags.push_back({verb, found[1], found[2] != "FLOAT"});
  }
  return flags;
}

TEST(NumberOptions, TakeDecimalNumbersAndWholeTextsOnly) {
  const std::vector<NumericFlag> flags = numeric_flags();
  std::set<std::string> names;
  for (const NumericFlag& flag : flags) names.insert(flag.flag);
  ASSERT_GT(names.size(), 20U);
  for (const NumericFlag& flag : flags) {
    std::vector<std::string> bad = {"x", "5x", " 5", "0x10", "1e999", "nan", "inf", "1,5"};
    if (flag.is_whole)
      bad.insert(bad.end(), {"-1", "1.5", "1e2", "99999999999999999999", "0b1", "+5"});
    for (const std::string& text : bad) {
      const ProgramResult result = run_program({flag.verb, flag.flag + "=" + text});
      EXPECT_EQ(result.exit_code, 2) << flag.verb << ' ' << flag.flag << " '" << text << "'";
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(result.err.rfind(flag.flag + ": '" + text + "': expected a ", 0), 0U)
          << flag.verb << ' ' << result.err;
    }
  }
}

TEST(NumberOptions, AnEmptyValueIsNotZero) {
  for (const NumericFlag& flag : numeric_flags())
    for (const std::vector<std::string>& given :
         {std::vector<std::string>{flag.verb, flag.flag + "="}, {flag.verb, flag.flag, ""}}) {
      const ProgramResult result = run_program(given);
      EXPECT_EQ(result.exit_code, 2) << flag.verb << ' ' << flag.flag;
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(result.err.rfind(flag.flag + ": ", 0), 0U) << flag.verb << ' ' << result.err;
    }
}

TEST(NumberOptions, ALeadingZeroIsNoOctal) {
  const ProgramResult ten = run_program({"space", "--mnk", "64_64_64", "--limit", "10", "--csv"});
  const ProgramResult zeros =
      run_program({"space", "--mnk", "64_64_64", "--limit", "010", "--csv"});
  EXPECT_EQ(zeros.exit_code, 0) << zeros.err;
  EXPECT_EQ(zeros.out, ten.out);
}

TEST(NumberOptions, ARangeIsNamedWhereItIsLeft) {
  EXPECT_EQ(run_program({"space", "--mnk", "64_64_64", "--lda", "99999999999999999999"}).err,
            "--lda: '99999999999999999999': expected a whole number from 0 to 549755813887\n"
            "Run with --help for more information.\n");
  EXPECT_EQ(run_program({"tune", "--mnk", "64_64_64", "--budget", "2147483647"}).err,
            "--budget: '2147483647': expected a whole number from 0 to 16777216\n"
            "Run with --help for more information.\n");
}

// An empty variable of a script was taken for a flag that was not given.
TEST(NumberOptions, AnEmptyTextIsRefusedByName) {
  EXPECT_EQ(run_program({"tune", "--mnk", "64_64_64", "--dry-run", "--policy", ""}).err,
            "gemmsmith: --policy: its value is empty\n");
  const ProgramResult store = run_program({"store", "show", "--store", ""});
  EXPECT_EQ(store.exit_code, 2);
  EXPECT_EQ(store.err, "gemmsmith: --store: its value is empty\n");
  EXPECT_EQ(run_program({"store", "export", ""}).err, "gemmsmith: file: its value is empty\n");
}

}  // namespace
}  // namespace gemmsmith::test
