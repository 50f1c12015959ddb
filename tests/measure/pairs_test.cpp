#include "measure/pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace gemmsmith {
namespace {

TEST(Quadruples, ALinearDriftFallsOut) {
  // Clocks slow by 1 % a replay; the candidate is 10 % faster than the baseline throughout.
  std::vector<Quadruple> quadruples;
  double speed = 1;
  const auto next = [&speed](double us) {
    const double time = us * speed;
    speed += 0.01;
    return time;
  };
  for (int i = 0; i < 12; ++i) {
    Quadruple q;
    q.candidate_first = next(10);
    q.baseline_first = next(11);
    q.baseline_second = next(11);
    q.candidate_second = next(10);
    quadruples.push_back(q);
  }
  Measurement row;
  summarise(quadruples, row);
  EXPECT_NEAR(row.ratio, 1.1, 1e-12);
  EXPECT_NEAR(row.ratio_low, 1.1, 1e-12);
  EXPECT_EQ(row.repeats_us.size(), 12U);
  EXPECT_GE(row.median_us, row.low_us);
  EXPECT_LE(row.median_us, row.high_us);
}

TEST(Quadruples, RatioAboveOneMeansFasterThanTheBaseline) {
  Measurement row;
  const std::vector<Quadruple> quadruples(8, Quadruple{4, 5, 5, 4});
  summarise(quadruples, row);
  EXPECT_DOUBLE_EQ(row.median_us, 4);
  EXPECT_NEAR(row.ratio, 1.25, 1e-12);
}

TEST(Quadruples, EqualSidesSeldomClaimAWin) {
  // The selection rule on noise alone: interval above 0 and a gain of 1 %. With 1 % of noise and
  // 24 quadruples the median of nothing must not look like a gain.
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.01);
  int wins = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Quadruple> quadruples;
    const auto time = [&] { return 10 * std::exp(noise(random)); };
    for (int i = 0; i < 24; ++i) quadruples.push_back({time(), time(), time(), time()});
    Measurement row;
    summarise(quadruples, row);
    if (row.ratio_low > 1 && row.ratio >= 1.01) ++wins;
  }
  EXPECT_LE(wins, kTrials / 100);
}

TEST(Repeats, PairEachTimeWithItsOwnBaseline) {
  Measurement row;
  const std::vector<Repeat> repeats = {{10, 12}, {20, 24}, {40, 48}};
  summarise(repeats, row);
  EXPECT_NEAR(row.ratio, 1.2, 1e-12);
  EXPECT_DOUBLE_EQ(row.median_us, 20);
  EXPECT_DOUBLE_EQ(row.low_us, 10);  // three repeats reach no confidence: their whole range
  EXPECT_DOUBLE_EQ(row.high_us, 40);
}

TEST(LaunchesPerReplay, FillTheTimeAndCoverL2WhereThatIsCheap) {
  EXPECT_EQ(launches_per_replay(4, 400, 0), 100);
  EXPECT_EQ(launches_per_replay(4, 400, 150), 150);  // 600 us: within twice the time
  EXPECT_EQ(launches_per_replay(4, 400, 201), 100);  // 804 us: not
  EXPECT_EQ(launches_per_replay(13000, 400, 1), 1);  // one launch at least
  EXPECT_EQ(launches_per_replay(0.1, 600, 0), kMaxGraphLaunches);
  EXPECT_EQ(launches_per_replay(0, 600, 0), kMaxGraphLaunches);
}

RC_GTEST_PROP(LaunchesPerReplay, StayWithinTheirBounds, ()) {
  const double launch_us = *rc::gen::inRange(1, 1000000) / 100.0;
  const double replay_us = *rc::gen::inRange(1, 10000);
  const int cover = *rc::gen::inRange(0, 5000);
  const int launches = launches_per_replay(launch_us, replay_us, cover);
  RC_ASSERT(launches >= 1);
  RC_ASSERT(launches <= kMaxGraphLaunches);
  RC_ASSERT(launches == 1 || launches * launch_us <= 2.5 * replay_us);
}

TEST(QuadruplesWithin, LongReplaysGetFewerButEnough) {
  EXPECT_EQ(quadruples_within(24, 600, 400e3), 24);
  EXPECT_EQ(quadruples_within(24, 5000, 400e3), 20);
  EXPECT_EQ(quadruples_within(24, 13000, 400e3), kMinQuadruples);
  EXPECT_EQ(quadruples_within(2, 600, 400e3), kMinQuadruples);
  EXPECT_EQ(quadruples_within(1000, 0, 400e3), 1000);
}

}  // namespace
}  // namespace gemmsmith
