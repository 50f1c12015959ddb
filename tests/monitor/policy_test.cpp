// A policy file's errors name line and column; what is accepted is what was written.
#include "monitor/policy.h"

#include <gtest/gtest.h>

#include <ostream>

#include <rapidcheck/gtest.h>

namespace gemmsmith::monitor {
namespace {

const std::string kRule = R"([[rule]]
name = "thrash"
metric = "l2_miss_pct"
above = 20 # of 100
after = 4
return_at = 12.5
return_after = 7
unless_throttled = true
actions = ["smaller_tile_k", "cublaslt"]
)";

TEST(MonitorPolicy, IsReadAsWritten) {
  const auto policy = parse_policy(kRule, "p.toml");
  ASSERT_TRUE(policy) << policy.error().what;
  ASSERT_EQ(policy->rules.size(), 1U);
  const Rule& rule = policy->rules[0];
  EXPECT_EQ(rule.name, "thrash");
  EXPECT_STREQ(metrics()[rule.metric].name, "l2_miss_pct");
  EXPECT_TRUE(rule.above);
  EXPECT_EQ(rule.threshold, 20);
  EXPECT_EQ(rule.after, 4);
  EXPECT_EQ(rule.return_at, 12.5);
  EXPECT_EQ(rule.return_after, 7);
  EXPECT_TRUE(rule.unless_throttled);
  EXPECT_EQ(rule.actions, (std::vector{Action::kSmallerTileK, Action::kCublasLt}));
  EXPECT_EQ(rule.line, 3);
  EXPECT_EQ(rule.column, 10);
}

// L2 misses above 20 % make tile K smaller first, and the library's heuristic is the last resort.
TEST(MonitorPolicy, TheBuiltInOneIsTheMissions) {
  const auto policy = parse_policy(default_policy_text(), "built in");
  ASSERT_TRUE(policy) << policy.error().what;
  ASSERT_EQ(policy->rules.size(), 2U);
  const Rule& rule = policy->rules[0];
  EXPECT_STREQ(metrics()[rule.metric].name, "l2_miss_pct");
  EXPECT_EQ(rule.threshold, 20);
  EXPECT_EQ(rule.actions,
            (std::vector{Action::kSmallerTileK, Action::kNextPlan, Action::kCublasLt}));
  EXPECT_FALSE(rule.unless_throttled);
  EXPECT_TRUE(policy->rules[1].unless_throttled);
  EXPECT_EQ(policy->rules[1].actions.back(), Action::kCublasLt);
}

TEST(MonitorPolicy, BelowIsBadWhereTheRuleSaysSo) {
  const auto policy = parse_policy(
      "[[rule]]\nname = \"slow\"\nmetric = \"sm_clock_pct\"\nbelow = 70\nactions = "
      "[\"cublaslt\"]\n",
      "p");
  ASSERT_TRUE(policy) << policy.error().what;
  EXPECT_TRUE(policy->rules[0].is_bad(69));
  EXPECT_FALSE(policy->rules[0].is_bad(70));
  EXPECT_EQ(policy->rules[0].return_at, 70);
}

struct Wrong {
  const char* label;
  const char* from;  // in kRule
  const char* to;
  const char* message;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.label; }

class WrongPolicy : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongPolicy, IsNamedWithLineAndColumn) {
  std::string text = kRule;
  const std::string from = GetParam().from;
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), GetParam().to);
  const auto policy = parse_policy(text, "p.toml");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(policy.error().what, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, WrongPolicy,
    ::testing::Values(
        Wrong{"action", "\"cublaslt\"", "\"reboot\"",
              "p.toml:9:30: unknown action 'reboot': expected smaller_tile_k, next_plan or "
              "cublaslt"},
        Wrong{"no_action", "[\"smaller_tile_k\", \"cublaslt\"]", "[]",
              "p.toml:9:11: actions: expected a list, for example [\"smaller_tile_k\", "
              "\"cublaslt\"]"},
        Wrong{"threshold", "above = 20", "above = 120",
              "p.toml:4:9: above = 120: expected l2_miss_pct from 0 to 100"},
        Wrong{"metric", "l2_miss_pct", "warp_speed",
              "p.toml:3:10: unknown metric 'warp_speed': expected one of latency_ratio, "
              "l2_miss_pct, sm_throughput_pct, bank_conflict_pct, dram_pct, occupancy_pct, ipc, "
              "power_pct, sm_clock_pct"},
        Wrong{"both", "after = 4", "below = 4",
              "p.toml:5:9: above and below in one rule: expected one of them"},
        Wrong{"neither", "above = 20", "", "p.toml:1:1: the rule has no above or below"},
        Wrong{"nameless", "name = \"thrash\"", "", "p.toml:1:1: the rule has no name"},
        Wrong{"key", "after", "before",
              "p.toml:5:10: unknown 'before': expected name, metric, above or below, after, "
              "return_at, return_after, unless_throttled, actions"},
        Wrong{"return", "return_at = 12.5", "return_at = 21",
              "p.toml:6:13: return_at = 21: expected at most the threshold 20: it would return to "
              "what it left"},
        Wrong{"samples", "after = 4", "after = 0",
              "p.toml:5:9: after: expected a whole number from 1 to 1000000"},
        Wrong{"half_samples", "after = 4", "after = 1.5",
              "p.toml:5:9: after: expected a whole number from 1 to 1000000"},
        Wrong{"text_for_number", "above = 20", "above = \"much\"",
              "p.toml:4:9: above: expected a number"},
        Wrong{"date", "above = 20", "above = 1979-05-27",
              "p.toml:4:9: '1979-05-27': expected a number, true, false, \"a string\" or [\"a\", "
              "\"list\"]"},
        Wrong{"no_value", "above = 20", "above =",
              "p.toml:4:1: 'above =': expected a number, true, false, \"a string\" or [\"a\", "
              "\"list\"] behind ="},
        Wrong{"no_toml", "above = 20", "above 20",
              "p.toml:4:1: 'above 20': expected [[rule]] or name = value"},
        Wrong{"twice", "after = 4", "above = 4",
              "p.toml:5:1: 'above': expected each key once in a rule"}),
    [](const auto& tested) { return std::string(tested.param.label); });

TEST(MonitorPolicy, RulesNeedNamesOfTheirOwn) {
  EXPECT_EQ(parse_policy(kRule + kRule, "p.toml").error().what,
            "p.toml:10:1: two rules with the name 'thrash'");
}

TEST(MonitorPolicy, WithoutARuleThereIsNothingToDo) {
  EXPECT_EQ(parse_policy("# nothing\n", "p.toml").error().what,
            "p.toml: no rule: expected at least one [[rule]]");
  EXPECT_EQ(parse_policy("above = 3\n", "p.toml").error().what,
            "p.toml:1:9: 'above' outside a rule: expected [[rule]] first");
}

RC_GTEST_PROP(MonitorPolicy, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto policy = parse_policy(text, "p");
  if (!policy) RC_ASSERT(policy.error().code == ErrorCode::kBadInput);
}

// A good policy with some of its characters changed, where parsers break.
RC_GTEST_PROP(MonitorPolicy, DamagedTextIsReadOrRefused, ()) {
  std::string text = kRule;
  const auto changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i)
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  const auto policy = parse_policy(text, "p");
  if (!policy) RC_ASSERT(policy.error().code == ErrorCode::kBadInput);
}

}  // namespace
}  // namespace gemmsmith::monitor
