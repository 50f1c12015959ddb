#include "measure/numerics.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace gemmsmith {
namespace {

double f16_of(double value) { return __half2float(__double2half(value)); }
double bf16_of(float value) { return __bfloat162float(__float2bfloat16(value)); }

Problem problem_with_k(std::int64_t k, DataType accumulator = DataType::kF32) {
  Problem problem;
  problem.m = 64;
  problem.n = 64;
  problem.k = k;
  problem.accumulator = accumulator;
  return *make_problem(problem);
}

TEST(RoundToType, EveryF16IsItself) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    const double value = __half2float(__half(raw));
    if (std::isnan(value)) continue;
    EXPECT_EQ(round_to_type(value, DataType::kF16), value);
  }
}

RC_GTEST_PROP(RoundToType, AgreesWithTheToolkitOnF16, ()) {
  const int mantissa = *rc::gen::inRange(-(1 << 30), 1 << 30);
  const int exponent = *rc::gen::inRange(-60, -12);
  const double value = std::ldexp(mantissa, exponent);
  RC_ASSERT(round_to_type(value, DataType::kF16) == f16_of(value));
}

RC_GTEST_PROP(RoundToType, AgreesWithTheToolkitOnBf16, ()) {
  const int mantissa = *rc::gen::inRange(-(1 << 23), 1 << 23);
  const int exponent = *rc::gen::inRange(-100, 100);
  const auto value = static_cast<float>(std::ldexp(mantissa, exponent));
  RC_ASSERT(round_to_type(value, DataType::kBf16) == bf16_of(value));
}

TEST(RoundToType, OverflowsToInfinityWhereTheFormatDoes) {
  EXPECT_EQ(round_to_type(65519, DataType::kF16), 65504);
  EXPECT_EQ(round_to_type(65520, DataType::kF16), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to_type(-70000, DataType::kF16), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to_type(2049, DataType::kF16), 2048);  // ties to even
  EXPECT_EQ(round_to_type(2051, DataType::kF16), 2052);
}

// The bound of an f32 D has no rounding to 16 bits in it.
TEST(ErrorBound, IsThatOfDsType) {
  Problem problem = problem_with_k(64);
  const ExactElement element = {100.0, 100.0, 0.0};
  const double rounded = error_bound(problem, element);
  problem.f32_output = true;
  const double whole = error_bound(problem, element);
  EXPECT_NEAR(rounded - whole, 100 * 0x1p-11, 100 * 0x1p-20);
}

// What an accumulator of `type` makes of a sum of integer products.
double accumulate(const Problem& problem, std::mt19937_64& random, DataType type, double& exact) {
  const IntegerRange range = probe_range(problem);
  std::uniform_int_distribution<int> draw(range.low, range.high);
  double sum = 0;
  exact = 0;
  for (std::int64_t l = 0; l < problem.k; ++l) {
    const double product = double{1} * draw(random) * draw(random);
    exact += product;
    sum = round_to_type(sum + product, type);
  }
  return sum;
}

class ProbeRange : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(ProbeRange, KeepsF32ExactAndF16Finite) {
  const Problem problem = problem_with_k(GetParam());
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    double exact = 0;
    EXPECT_EQ(accumulate(problem, random, DataType::kF32, exact), exact);
    EXPECT_TRUE(std::isfinite(round_to_type(exact, DataType::kF16))) << exact;
  }
}

class LongProbeRange : public ProbeRange {};

TEST_P(LongProbeRange, ExposesAnF16Accumulator) {
  const Problem problem = problem_with_k(GetParam());
  std::mt19937_64 random(2);
  int exposed = 0;
  constexpr int kElements = 40;
  for (int i = 0; i < kElements; ++i) {
    double exact = 0;
    const double narrow = accumulate(problem, random, DataType::kF16, exact);
    exposed += narrow != round_to_type(exact, DataType::kF16);
  }
  // One element of a 64 x 64 result would do; this demands more than a fourth of them.
  EXPECT_GT(exposed, kElements / 4);
}

INSTANTIATE_TEST_SUITE_P(K, ProbeRange,
                         ::testing::Values(1, 2, 3, 8, 16, 64, 100, 256, 1000, 4096, 16384, 65536,
                                           150000));
// Fewer products than 8 make too few sums to round.
INSTANTIATE_TEST_SUITE_P(K, LongProbeRange,
                         ::testing::Values(8, 16, 64, 100, 256, 1000, 4096, 16384, 65536, 150000));

TEST(ProbeRange, StaysSmallForF16Accumulation) {
  std::mt19937_64 random(3);
  const Problem problem = problem_with_k(16384, DataType::kF16);
  for (int i = 0; i < 20; ++i) {
    double exact = 0;
    EXPECT_EQ(accumulate(problem, random, DataType::kF16, exact), exact);
  }
}

TEST(ErrorBound, HoldsForAnF32AccumulatorAndBreaksForAnF16One) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal(0, 1);
  const Problem problem = problem_with_k(2048);
  int broken = 0;
  constexpr int kElements = 50;
  for (int i = 0; i < kElements; ++i) {
    ExactElement element;
    float wide = 0;
    double narrow = 0;
    for (std::int64_t l = 0; l < problem.k; ++l) {
      const double product = f16_of(normal(random)) * f16_of(normal(random));
      element.sum += product;
      element.magnitude += std::abs(product);
      wide += static_cast<float>(product);
      narrow = round_to_type(narrow + product, DataType::kF16);
    }
    const double bound = error_bound(problem, element);
    EXPECT_LE(std::abs(round_to_type(double{wide}, DataType::kF16) - element.sum), bound);
    broken += std::abs(narrow - element.sum) > bound;
  }
  EXPECT_GT(broken, kElements / 10);  // of 256 sampled elements one is enough
}

TEST(ErrorBound, CountsAlphaBetaAndC) {
  Problem problem = problem_with_k(1);
  problem.alpha = -2;
  problem.beta = 3;
  const ExactElement element = {10, 10, 100};
  EXPECT_DOUBLE_EQ(exact_value(problem, element), 280);
  // Half a unit in the last place of 280 (0.125), and a little for the sum.
  EXPECT_GT(error_bound(problem, element), 280 * 0x1p-11);
  EXPECT_LT(error_bound(problem, element), 280 * 0x1.1p-11);
}

TEST(ScalesExactly, TakesShortFractionsOnly) {
  Problem problem = problem_with_k(64);
  EXPECT_TRUE(scales_exactly(problem));
  problem.alpha = 0.125F;
  problem.beta = -2;
  EXPECT_TRUE(scales_exactly(problem));
  problem.alpha = 0.1F;
  EXPECT_FALSE(scales_exactly(problem));
}

}  // namespace
}  // namespace gemmsmith
