// A counted plan is judged by the thresholds that judge it when it serves.
#include "search/judgement.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gemmsmith {
namespace {

monitor::Policy policy_of(const std::string& text) {
  auto policy = monitor::parse_policy(text, "p");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().what);
  return policy ? *policy : monitor::Policy{};
}

// L2 hits of `percent`, all of them reads.
CounterValues with_l2_hits(double percent) {
  CounterValues v;
  v[Counter::kL2ReadSectors] = 1000;
  v[Counter::kL2ReadHits] = 10 * percent;
  v[Counter::kL2WriteSectors] = 0;
  v[Counter::kL2WriteHits] = 0;
  return v;
}

TEST(Judgement, TheBuiltInPolicyAllowsTwentyPercentOfMisses) {
  const monitor::Policy policy = policy_of(std::string(monitor::default_policy_text()));
  EXPECT_EQ(judge(policy, with_l2_hits(80)).text, "kept");
  const Judgement broken = judge(policy, with_l2_hits(72.75));
  EXPECT_EQ(broken.text, "l2_thrash: l2_miss_pct 27.2 above 20");
  ASSERT_EQ(broken.broken.size(), 1U);
  EXPECT_EQ(broken.broken[0]->actions.front(), monitor::Action::kSmallerTileK);
  EXPECT_EQ(broken.judged, 1) << "the latency of a serving process is not known here";
}

TEST(Judgement, WhatWasNotCountedIsNeitherKeptNorBroken) {
  const Judgement none = judge(policy_of(std::string(monitor::default_policy_text())), {});
  EXPECT_EQ(none.text, "-");
  EXPECT_EQ(none.judged, 0);
  EXPECT_TRUE(none.broken.empty());
}

TEST(Judgement, EveryBrokenRuleIsNamed) {
  const monitor::Policy policy = policy_of(
      "[[rule]]\nname = \"idle\"\nmetric = \"ipc\"\nbelow = 2\nactions = [\"cublaslt\"]\n"
      "[[rule]]\nname = \"dram\"\nmetric = \"dram_pct\"\nabove = 80\nactions = [\"cublaslt\"]\n"
      "[[rule]]\nname = \"warps\"\nmetric = \"occupancy_pct\"\nbelow = 5\nactions = "
      "[\"cublaslt\"]\n");
  CounterValues v;
  v[Counter::kIpc] = 1.25;
  v[Counter::kDramPercent] = 91;
  v[Counter::kOccupancyPercent] = 12.5;
  const Judgement judgement = judge(policy, v);
  EXPECT_EQ(judgement.text, "idle: ipc 1.2 below 2; dram: dram_pct 91.0 above 80");
  EXPECT_EQ(judgement.judged, 3);
}

// Each of the monitor's metrics comes of counters or of a running process, by its exact name.
TEST(Judgement, EveryMetricThatCountersTellIsRead) {
  CounterValues v = with_l2_hits(90);
  for (const Counter counter :
       {Counter::kTensorPercent, Counter::kIssuePercent, Counter::kSharedPipePercent,
        Counter::kDramPercent, Counter::kOccupancyPercent, Counter::kIpc})
    v[counter] = 2;
  v[Counter::kSharedConflicts] = 1;
  v[Counter::kSharedWavefronts] = 50;
  const auto values = monitor_values(v);
  ASSERT_EQ(values.size(), monitor::metrics().size());
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = monitor::metrics()[i].name;
    if (!values[i])
      unknown.insert(name);
    else
      EXPECT_EQ(*values[i], name == "l2_miss_pct" ? 10 : 2) << name;
  }
  EXPECT_EQ(unknown, (std::set<std::string>{"latency_ratio", "power_pct", "sm_clock_pct"}));
}

}  // namespace
}  // namespace gemmsmith
