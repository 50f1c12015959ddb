// statistics_test.cpp -- known values, and the promise of median_interval: it covers the true
// median as often as it says, whatever the distribution.
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace gemmsmith {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_EQ(median(values), 2.5);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Statistics, GeometricMeanOfRatios) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{0.5, 2.0}), 1.0);
  EXPECT_NEAR(geometric_mean(std::vector<double>{1.1, 1.2, 1.3}), 1.19722, 1e-5);
  EXPECT_TRUE(std::isnan(geometric_mean({})));
}

TEST(MedianInterval, TakesTheRanksOfTheBinomial) {
  // Tables of sign-test intervals: n = 10 gives ranks 2 and 9, n = 20 gives 6 and 15 (95 %).
  std::vector<double> ten(10);
  std::vector<double> twenty(20);
  for (std::size_t i = 0; i < ten.size(); ++i) ten[i] = static_cast<double>(i + 1);
  for (std::size_t i = 0; i < twenty.size(); ++i) twenty[i] = static_cast<double>(i + 1);
  EXPECT_EQ(median_interval(ten).low, 2);
  EXPECT_EQ(median_interval(ten).high, 9);
  EXPECT_EQ(median_interval(twenty).low, 6);
  EXPECT_EQ(median_interval(twenty).high, 15);
}

TEST(MedianInterval, FewValuesGiveTheirWholeRange) {
  const std::vector<double> three = {3, 1, 2};
  const Interval interval = median_interval(three);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.mid, 2);
  EXPECT_EQ(interval.high, 3);
  EXPECT_TRUE(std::isnan(median_interval({}).mid));
}

RC_GTEST_PROP(MedianInterval, LiesWithinTheValuesAndAroundTheMedian, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(rc::gen::map(
      rc::gen::inRange(-1000, 1000), [](int v) { return static_cast<double>(v) / 8; })));
  const Interval interval = median_interval(values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  RC_ASSERT(*least <= interval.low && interval.low <= interval.mid);
  RC_ASSERT(interval.mid <= interval.high && interval.high <= *most);
  const Interval wider = median_interval(values, 0.999);
  RC_ASSERT(wider.low <= interval.low && interval.high <= wider.high);
}

struct CoverageCase {
  std::size_t count;
  double confidence;
};

class Coverage : public ::testing::TestWithParam<CoverageCase> {};

// Of a skewed distribution (exponential, median ln 2), 2000 times over.
TEST_P(Coverage, IsAtLeastWhatIsPromised) {
  const auto [count, confidence] = GetParam();
  constexpr int kTrials = 2000;
  std::mt19937_64 random(20240612 + count);
  std::exponential_distribution<double> exponential(1.0);
  int covered = 0;
  std::vector<double> values(count);
  for (int trial = 0; trial < kTrials; ++trial) {
    for (double& value : values) value = exponential(random);
    const Interval interval = median_interval(values, confidence);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
  }
  // Three standard deviations of a binomial share below the promise; and not absurdly wide.
  const double share = static_cast<double>(covered) / kTrials;
  EXPECT_GE(share, confidence - 3 * std::sqrt(confidence * (1 - confidence) / kTrials));
  EXPECT_LE(share, 1 - (1 - confidence) / 8);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Coverage,
                         ::testing::Values(CoverageCase{8, 0.95}, CoverageCase{15, 0.95},
                                           CoverageCase{31, 0.95}, CoverageCase{101, 0.95},
                                           CoverageCase{500, 0.95}, CoverageCase{501, 0.95},
                                           CoverageCase{1000, 0.95}, CoverageCase{60, 0.8},
                                           CoverageCase{700, 0.8}));

TEST(MedianInterval, TheTwoWaysOfFindingRanksAgreeWhereTheyMeet) {
  std::vector<double> below(500);
  std::vector<double> above(502);
  for (std::size_t i = 0; i < below.size(); ++i) below[i] = static_cast<double>(i);
  for (std::size_t i = 0; i < above.size(); ++i) above[i] = static_cast<double>(i) - 1;
  EXPECT_NEAR(median_interval(below).low, median_interval(above).low, 1.5);
  EXPECT_NEAR(median_interval(below).high, median_interval(above).high, 1.5);
}

TEST(Statistics, RankCorrelationSeesOrderAlone) {
  const std::vector<double> a = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{10, 200, 300, 4000}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{2, 1, 4, 3}), 0.6);
  // Ties share the mean of their ranks: 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(rank_correlation(a, std::vector<double>{1, 5, 5, 9}), 4.5 / std::sqrt(5 * 4.5),
              1e-12);
}

TEST(Statistics, RankCorrelationOfTooLittleIsNone) {
  const std::vector<double> two = {1, 2};
  EXPECT_TRUE(std::isnan(rank_correlation(two, two)));
  const std::vector<double> three = {1, 2, 3};
  EXPECT_TRUE(std::isnan(rank_correlation(three, two)));
  EXPECT_TRUE(std::isnan(rank_correlation(three, std::vector<double>{7, 7, 7})));
}

}  // namespace
}  // namespace gemmsmith
