#include "train/dataset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/small_recording.h"

namespace gemmsmith::train {
namespace {

TEST(Dataset, TakesScreenedConfigsThatRan) {
  std::vector<Measurement> rows = small_recording(2, 5);
  rows[1].status = Status::kFault;
  const Dataset dataset = *make_dataset(device_of(rows));
  ASSERT_EQ(dataset.shapes.size(), 2U);
  EXPECT_EQ(dataset.shapes[0].size(), 4U);
  EXPECT_EQ(dataset.shapes[1].size(), 5U);
  EXPECT_EQ(dataset.failures, 1);
  const MeasuredConfig& first = dataset.shapes[0].configs[0];
  EXPECT_EQ(to_text(first.config), rows[0].config);
  EXPECT_NEAR(first.value, std::log(rows[0].ratio), 1e-6);
  EXPECT_GE(dataset.shapes[0].best, first.value);
}

TEST(Dataset, ARecordingWithNothingToLearnFromIsRefused) {
  std::vector<Measurement> rows = small_recording(1, 3);
  for (Measurement& row : rows) row.status = Status::kFault;
  EXPECT_EQ(make_dataset(device_of(rows)).error().what,
            "the recording has no problem with a screened config that ran: there is nothing to "
            "learn from; record one with gemmsmith tune and gemmsmith store export");
}

TEST(Dataset, DrawnValuesStayBetweenTheRepeats) {
  const MeasuredConfig config{{}, 0.5F, {-0.1F, 0, 0.2F}};
  std::uint64_t random = 7;
  float low = 1, high = 0;
  for (int i = 0; i < 200; ++i) {
    const float value = drawn_value(config, random);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_NEAR(low, 0.4F, 1e-6F);
  EXPECT_NEAR(high, 0.7F, 1e-6F);
}

struct SplitCase {
  const char* rule;
  std::int64_t m, n, k;
  bool held;
};

class HoldOutRule : public ::testing::TestWithParam<SplitCase> {};

TEST_P(HoldOutRule, Holds) {
  const SplitCase& c = GetParam();
  Problem problem;
  problem.m = c.m;
  problem.n = c.n;
  problem.k = c.k;
  EXPECT_EQ(HoldOut::parse(c.rule)->holds(problem), c.held);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, HoldOutRule,
    ::testing::Values(SplitCase{"none", 64, 64, 64, false}, SplitCase{"m=512", 512, 64, 64, true},
                      SplitCase{"m=512", 64, 512, 512, false}, SplitCase{"n=64", 512, 64, 8, true},
                      SplitCase{"k=64", 512, 8, 64, true}, SplitCase{"skinny", 128, 2048, 64, true},
                      SplitCase{"skinny", 2048, 64, 64, true},
                      SplitCase{"skinny", 256, 4096, 64, false},
                      SplitCase{"long_k", 256, 1024, 4096, true},
                      SplitCase{"long_k", 2048, 64, 4096, false}));

TEST(HoldOut, RandomPartsCoverEveryProblemOnce) {
  std::vector<int> counts(5);
  for (std::int64_t m = 64; m < 4096; m += 64) {
    Problem problem;
    problem.m = m;
    problem.n = problem.k = 64;
    int held = 0;
    for (int part = 0; part < 5; ++part)
      if (HoldOut::parse(fmt::format("random:{}/5", part))->holds(problem)) {
        ++held;
        ++counts[static_cast<std::size_t>(part)];
      }
    EXPECT_EQ(held, 1) << m;
  }
  for (const int count : counts) EXPECT_GT(count, 3);
}

TEST(HoldOut, OtherTextIsRefused) {
  for (const char* text : {"", "half", "random:5/5", "random:-1/5", "random:1", "m=", "m=x", "q=1"})
    EXPECT_EQ(
        HoldOut::parse(text).error().what,
        fmt::format("hold-out '{}': expected none, random:I/N, m=V, n=V, k=V, skinny or long_k",
                    text));
}

}  // namespace
}  // namespace gemmsmith::train
