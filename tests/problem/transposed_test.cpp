// A product and its transpose: what changes sides, what stays as it lies, and that twice is
// nothing.
#include "problem/transposed.h"

#include <gtest/gtest.h>

#include "problem/matrix_shape.h"

namespace gemmsmith {
namespace {

Problem problem_in(Layout layout) {
  Problem problem;
  problem.m = 24;
  problem.n = 40;
  problem.k = 72;
  problem.batch = 3;
  problem.layout = layout;
  problem.lda = 80;
  problem.ldb = 88;
  problem.ldc = 48;
  problem.ldd = 56;
  problem.stride_b = 0;
  problem.alignment = {16, 2, 4, 8};
  problem.beta = 0.5F;
  problem.has_bias = true;
  return *make_problem(problem);
}

class EveryLayout : public ::testing::TestWithParam<Layout> {};

TEST_P(EveryLayout, OperandsChangeSidesAsTheyLie) {
  const Problem problem = problem_in(GetParam());
  const Problem other = transposed(problem);
  EXPECT_EQ(std::tuple(other.m, other.n, other.k), std::tuple(problem.n, problem.m, problem.k));
  const auto lies = [](const MatrixShape& shape) {
    return std::tuple(shape.rows, shape.cols, shape.ld, shape.stride);
  };
  EXPECT_EQ(lies(stored_a(other)), lies(stored_b(problem)));
  EXPECT_EQ(lies(stored_b(other)), lies(stored_a(problem)));
  EXPECT_EQ(a_is_k_contiguous(other.layout), b_is_k_contiguous(problem.layout));
  EXPECT_EQ(b_is_k_contiguous(other.layout), a_is_k_contiguous(problem.layout));
  EXPECT_EQ(other.alignment, (Alignment{2, 16, 4, 8}));
}

TEST_P(EveryLayout, ResultsStayWhereTheyAre) {
  const Problem problem = problem_in(GetParam());
  const Problem other = transposed(problem);
  EXPECT_EQ(std::tuple(other.ldc, other.ldd, other.stride_c, other.stride_d),
            std::tuple(problem.ldc, problem.ldd, problem.stride_c, problem.stride_d));
  EXPECT_EQ(std::tuple(other.beta, other.has_bias, other.batch), std::tuple(0.5F, true, 3));
}

TEST_P(EveryLayout, TwiceIsTheProblemItself) {
  const Problem problem = problem_in(GetParam());
  EXPECT_EQ(transposed(transposed(problem)), problem);
  EXPECT_EQ(transposed(transposed(GetParam())), GetParam());
  EXPECT_EQ(transposed(signature_of(problem)), signature_of(transposed(problem)));
}

INSTANTIATE_TEST_SUITE_P(Layouts, EveryLayout,
                         ::testing::Values(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT),
                         [](const auto& layout) { return std::string(name(layout.param)); });

}  // namespace
}  // namespace gemmsmith
