// The bars of the two errors, and that nothing undefined slips past them.
#include "measure/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gemmsmith {
namespace {

Problem f16() { return {}; }

AccuracyReport report(double relative_error, double bound_ratio) {
  AccuracyReport report;
  report.relative_error = relative_error;
  report.bound_ratio = bound_ratio;
  return report;
}

TEST(Accuracy, RelativeNormIsARatioOfRoots) {
  EXPECT_DOUBLE_EQ(relative_norm(4, 16), 0.5);
  EXPECT_EQ(relative_norm(0, 16), 0);
}

TEST(Accuracy, EqualZerosAreNoError) { EXPECT_EQ(relative_norm(0, 0), 0); }

TEST(Accuracy, AnythingAgainstZeroIsInfinitelyFar) {
  EXPECT_FALSE(passes_norm(f16(), report(relative_norm(1, 0), 0)));
}

TEST(Accuracy, TheNormMustBeBelowTheBar) {
  EXPECT_TRUE(passes_norm(f16(), report(0.99e-3, 0)));
  EXPECT_FALSE(passes_norm(f16(), report(1e-3, 0)));
}

TEST(Accuracy, TheBoundMayBeReached) {
  EXPECT_TRUE(passes_bound(report(0, 1)));
  EXPECT_FALSE(passes_bound(report(0, std::nextafter(1.0, 2.0))));
}

TEST(Accuracy, NanNeverPasses) {
  const double nan = std::nan("");
  Problem bf16;
  bf16.type = DataType::kBf16;
  EXPECT_FALSE(passes_norm(f16(), report(nan, 0)));
  EXPECT_FALSE(passes_norm(bf16, report(nan, 0)));
  EXPECT_FALSE(passes_bound(report(0, nan)));
}

TEST(Accuracy, OnlyF16OfF32SumsHasTheNormsBar) {
  Problem bf16;
  bf16.type = DataType::kBf16;
  Problem narrow;
  narrow.accumulator = DataType::kF16;
  EXPECT_TRUE(norm_is_barred(f16()));
  for (const Problem& problem : {bf16, narrow}) {
    EXPECT_FALSE(norm_is_barred(problem));
    EXPECT_TRUE(is_accurate(problem, report(0.01, 0.5)));
    EXPECT_FALSE(is_accurate(problem, report(0.01, 1.5)));
  }
}

TEST(Accuracy, GoodFiguresDoNotExcuseAFailedCheck) {
  AccuracyReport wrong = report(1e-4, 0.1);
  EXPECT_TRUE(is_accurate(f16(), wrong));
  wrong.status = Status::kNondeterministic;
  EXPECT_FALSE(is_accurate(f16(), wrong));
}

}  // namespace
}  // namespace gemmsmith
