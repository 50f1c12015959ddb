// The targets' rules, at their thresholds.
#include "measure/targets.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

TEST(Targets, SayTheirRules) {
  std::string text;
  for (const CounterTarget& target : counter_targets())
    text += std::string(target.name) + " " + rule_text(target) + "\n";
  EXPECT_EQ(text,
            "SM throughput > 85 %\n"
            "bank conflicts < 5 %\n"
            "L2 hits > 90 %\n"
            "DRAM throughput < 80 %\n"
            "occupancy > 50 %\n"
            "IPC > 2\n");
}

TEST(Targets, TheThresholdItselfIsNotMet) {
  CounterValues v;
  const CounterTarget& ipc = counter_targets()[5];
  EXPECT_EQ(is_met(ipc, v), std::nullopt);
  v[Counter::kIpc] = 2;
  EXPECT_EQ(is_met(ipc, v), false);
  v[Counter::kIpc] = 2.01;
  EXPECT_EQ(is_met(ipc, v), true);
  const CounterTarget& dram = counter_targets()[3];
  v[Counter::kDramPercent] = 80;
  EXPECT_EQ(is_met(dram, v), false);
  v[Counter::kDramPercent] = 79.9;
  EXPECT_EQ(is_met(dram, v), true);
}

}  // namespace
}  // namespace gemmsmith
