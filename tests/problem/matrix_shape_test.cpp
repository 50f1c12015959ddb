// The stored matrices of a problem: what is contiguous in which layout, and where they end.
#include "problem/matrix_shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace gemmsmith {
namespace {

Problem problem_of(Layout layout) {
  Problem problem;
  problem.m = 5;
  problem.n = 7;
  problem.k = 11;
  problem.layout = layout;
  return *make_problem(problem);
}

bool same(const MatrixShape& shape, std::int64_t rows, std::int64_t cols) {
  return shape.rows == rows && shape.cols == cols && shape.ld == cols;
}

TEST(MatrixShape, LinesRunAlongWhatTheLayoutMakesContiguous) {
  for (const Layout layout : {Layout::kTN, Layout::kTT})
    EXPECT_TRUE(same(stored_a(problem_of(layout)), 5, 11)) << name(layout);
  for (const Layout layout : {Layout::kNN, Layout::kNT})
    EXPECT_TRUE(same(stored_a(problem_of(layout)), 11, 5)) << name(layout);
  for (const Layout layout : {Layout::kTN, Layout::kNN})
    EXPECT_TRUE(same(stored_b(problem_of(layout)), 7, 11)) << name(layout);
  for (const Layout layout : {Layout::kNT, Layout::kTT})
    EXPECT_TRUE(same(stored_b(problem_of(layout)), 11, 7)) << name(layout);
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    EXPECT_TRUE(same(stored_c(problem_of(layout)), 5, 7)) << name(layout);
    EXPECT_TRUE(same(stored_d(problem_of(layout)), 5, 7)) << name(layout);
  }
}

TEST(MatrixShape, EachOperandHasItsOwnLeadingDimension) {
  Problem problem = problem_of(Layout::kTN);
  problem.lda = 101;
  problem.ldb = 102;
  problem.ldc = 103;
  problem.ldd = 104;
  EXPECT_EQ(stored_a(problem).ld, 101);
  EXPECT_EQ(stored_b(problem).ld, 102);
  EXPECT_EQ(stored_c(problem).ld, 103);
  EXPECT_EQ(stored_d(problem).ld, 104);
}

// Counted element by element: the padding behind the last row belongs to somebody else.
RC_GTEST_PROP(MatrixShape, ExtentEndsWithTheLastElement, ()) {
  MatrixShape shape;
  shape.rows = *rc::gen::inRange(0, 9);
  shape.cols = *rc::gen::inRange(1, 9);
  shape.ld = shape.cols + *rc::gen::inRange(0, 5);
  std::int64_t end = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    for (std::int64_t column = 0; column < shape.cols; ++column) end = row * shape.ld + column + 1;
  RC_ASSERT(shape.extent() == end);
}

// The elements of a batch, counted one by one.
RC_GTEST_PROP(MatrixShape, MatricesAreApartWhereNoElementBelongsToTwo, ()) {
  MatrixShape shape;
  shape.rows = *rc::gen::inRange(1, 5);
  shape.cols = *rc::gen::inRange(1, 5);
  shape.ld = shape.cols + *rc::gen::inRange(0, 12);
  shape.batch = *rc::gen::inRange(1, 5);
  shape.stride = *rc::gen::inRange(0, 40);
  std::map<std::int64_t, int> uses;
  for (std::int64_t i = 0; i < shape.batch; ++i)
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t column = 0; column < shape.cols; ++column)
        ++uses[i * shape.stride + row * shape.ld + column];
  RC_ASSERT(shape.extent() == uses.rbegin()->first + 1);
  const bool is_shared =
      std::any_of(uses.begin(), uses.end(), [](const auto& use) { return use.second > 1; });
  // "Apart" is promised only for the two arrangements that guards can be checked in.
  if (shape.matrices_are_apart()) RC_ASSERT(!is_shared);
  if (shape.stride == 0 && shape.batch > 1) RC_ASSERT(shape.distinct() == 1);
}

TEST(MatrixShape, BatchesOfAProblemHaveItsStrides) {
  Problem problem = problem_of(Layout::kTN);
  problem.batch = 3;
  problem.stride_a = 0;
  problem = *make_problem(problem);
  EXPECT_EQ(stored_a(problem).distinct(), 1);
  EXPECT_EQ(stored_a(problem).extent(), 5 * 11);
  EXPECT_EQ(stored_b(problem).batch, 3);
  EXPECT_EQ(stored_b(problem).extent(), 3 * 7 * 11);
  EXPECT_EQ(stored_d(problem).stride, 35);
  EXPECT_EQ(stored_c(problem).stride, 35);
}

}  // namespace
}  // namespace gemmsmith
