// The exchange of operands, for all layouts, against the definition of a column-major product.
#include "runtime/translate.h"

#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gemmsmith::runtime {
namespace {

struct Case {
  std::int32_t transa;
  std::int32_t transb;
  Layout layout;
};

class EachLayout : public testing::TestWithParam<Case> {};

gemmsmithProblem_t problem_of(const Case& layout) {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = layout.transa;
  problem.transb = layout.transb;
  problem.type = GEMMSMITH_R_16BF;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = 3;
  problem.n = 4;
  problem.k = 5;
  problem.lda = 7;
  problem.ldb = 8;
  problem.ldc = 9;
  problem.ldd = 11;
  return problem;
}

TEST_P(EachLayout, RowMajorProductOfExchangedOperandsIsTheSame) {
  const gemmsmithProblem_t their = problem_of(GetParam());
  const Problem our = to_row_major(their);
  EXPECT_EQ(our.layout, GetParam().layout);
  std::vector<int> a(64), b(64);
  for (int i = 0; i < 64; ++i) {
    a[static_cast<std::size_t>(i)] = i * i % 7;
    b[static_cast<std::size_t>(i)] = i * i % 11;
  }
  const auto at = [](const std::vector<int>& matrix, std::int64_t index) {
    return matrix[static_cast<std::size_t>(index)];
  };
  for (std::int64_t i = 0; i < their.m; ++i)
    for (std::int64_t j = 0; j < their.n; ++j) {
      int expected = 0;
      int actual = 0;
      for (std::int64_t p = 0; p < their.k; ++p) {
        const bool ta = their.transa != GEMMSMITH_OP_N;
        const bool tb = their.transb != GEMMSMITH_OP_N;
        expected += at(a, ta ? p + i * their.lda : i + p * their.lda) *
                    at(b, tb ? j + p * their.ldb : p + j * their.ldb);
        // Our row is their column; our A is their B.
        actual += at(b, a_is_k_contiguous(our.layout) ? j * our.lda + p : p * our.lda + j) *
                  at(a, b_is_k_contiguous(our.layout) ? i * our.ldb + p : p * our.ldb + i);
      }
      EXPECT_EQ(actual, expected) << i << ", " << j;
    }
  EXPECT_EQ(our.m, their.n);
  EXPECT_EQ(our.n, their.m);
  EXPECT_EQ(our.ldc, their.ldc);
  EXPECT_EQ(our.ldd, their.ldd);
  EXPECT_EQ(our.type, DataType::kBf16);
}

INSTANTIATE_TEST_SUITE_P(All, EachLayout,
                         testing::Values(Case{GEMMSMITH_OP_T, GEMMSMITH_OP_N, Layout::kTN},
                                         Case{GEMMSMITH_OP_C, GEMMSMITH_OP_N, Layout::kTN},
                                         Case{GEMMSMITH_OP_N, GEMMSMITH_OP_N, Layout::kTT},
                                         Case{GEMMSMITH_OP_N, GEMMSMITH_OP_T, Layout::kNT},
                                         Case{GEMMSMITH_OP_T, GEMMSMITH_OP_T, Layout::kNN},
                                         Case{GEMMSMITH_OP_C, GEMMSMITH_OP_C, Layout::kNN}));

TEST(HalfToFloat, AgreesWithCudaOnEveryValue) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const __half_raw raw{static_cast<unsigned short>(bits)};
    const float expected = __half2float(__half(raw));
    const float actual = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(actual)) << bits;
    else
      ASSERT_EQ(actual, expected) << bits;
  }
}

TEST(AlignmentOf, IsTheLargestPowerOfTwoUpTo256) {
  const auto of = [](std::uintptr_t value) {
    return alignment_of(reinterpret_cast<const void*>(value));
  };
  EXPECT_EQ(of(0x1000), 256);
  EXPECT_EQ(of(0x1080), 128);
  EXPECT_EQ(of(0x1002), 2);
  EXPECT_EQ(of(0x1001), 1);
  EXPECT_EQ(of(0), 256);
}

}  // namespace
}  // namespace gemmsmith::runtime
