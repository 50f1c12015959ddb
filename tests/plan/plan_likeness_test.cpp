#include "plan/plan_likeness.h"

#include <gtest/gtest.h>

namespace gemmsmith::plan {
namespace {

TEST(PlanLikeness, WorkIsAllThatKernelsWereCompiledForAndTunedWith) {
  PlanKey key;
  key.m = key.n = key.k = 64;
  PlanKey other = key;
  other.m = 8;
  other.k = 4096;
  EXPECT_TRUE(is_same_work(key, other)) << "whatever the sizes";
  for (std::uint8_t PlanKey::*member :
       {&PlanKey::type, &PlanKey::accumulator, &PlanKey::layout, &PlanKey::alignment,
        &PlanKey::epilogue, &PlanKey::grouped, &PlanKey::f32_output}) {
    other = key;
    other.*member = 1;
    EXPECT_FALSE(is_same_work(key, other));
  }
  other = key;
  other.batch = 2;
  EXPECT_FALSE(is_same_work(key, other)) << "kernels of batches know a third dimension";
  PlanKey larger = other;
  larger.batch = 9;
  EXPECT_TRUE(is_same_work(larger, other));
}

TEST(PlanLikeness, DistanceIsInFactorsOfTwo) {
  PlanKey key;
  key.m = key.n = key.k = 64;
  EXPECT_EQ(doublings_between(key, key), 0);
  PlanKey other = key;
  other.m = 128;
  other.k = 16;
  EXPECT_DOUBLE_EQ(doublings_between(key, other), 3);
  EXPECT_DOUBLE_EQ(doublings_between(other, key), 3);
  other.batch = 4;
  EXPECT_DOUBLE_EQ(doublings_between(key, other), 5);
}

}  // namespace
}  // namespace gemmsmith::plan
