#include "vendor/lt_matmul.h"

#include <cuda_fp16.h>

#include "fake_fixture.h"

namespace gemmsmith::vendor {
namespace {

constexpr std::int64_t kWorkspace = 1 << 20;

class LtMatmulFake : public FakeLibraryTest {
 protected:
  LtMatmul matmul_of(const Problem& problem, std::int64_t workspace = kWorkspace,
                     ScalarMode mode = ScalarMode::kHost) {
    auto matmul = LtMatmul::create(handle(), problem, workspace, mode);
    if (!matmul) ADD_FAILURE() << matmul.error().what;
    return std::move(*matmul);
  }
  LtAlgo first_algo(const LtMatmul& matmul) {
    auto algos = matmul.heuristics(8);
    if (!algos) ADD_FAILURE() << algos.error().what;
    return algos->front();
  }
};

struct Case {
  Layout layout;
  DataType type;
  DataType accumulator;
  float alpha, beta;
  std::int64_t padding;  // of every leading dimension
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    for (const auto& [type, accumulator] :
         {std::pair{DataType::kF16, DataType::kF32}, std::pair{DataType::kBf16, DataType::kF32},
          std::pair{DataType::kF16, DataType::kF16}})
      for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, std::pair{2.0f, -1.0f}})
        for (const std::int64_t padding : {0, 3})
          all.push_back({layout, type, accumulator, alpha, beta, padding});
  return all;
}

Problem problem_of(const Case& c, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem = vendor::problem_of(m, n, k, c.layout);
  problem.type = c.type;
  problem.accumulator = c.accumulator;
  problem.alpha = c.alpha;
  problem.beta = c.beta;
  problem.lda += c.padding;
  problem.ldb += 2 * c.padding;
  problem.ldc += 3 * c.padding;
  problem.ldd += 4 * c.padding;
  return problem;
}

TEST_F(LtMatmulFake, RowMajorProductIsRightInEveryLayoutAndType) {
  for (const Case& c : cases()) {
    const Problem problem = problem_of(c, 7, 12, 9);
    const LtMatmul matmul = matmul_of(problem);
    HostProduct product(problem);
    const auto ran =
        matmul.run(first_algo(matmul), product.operands(), {nullptr, kWorkspace}, nullptr);
    ASSERT_TRUE(ran) << ran.error().what;
    EXPECT_EQ(product.difference(), "");
  }
}

TEST_F(LtMatmulFake, BatchesHaveTheProblemsStrides) {
  Problem problem = vendor::problem_of(7, 12, 9, Layout::kNN);
  problem.batch = 4;
  problem.stride_b = 0;
  problem.stride_d = 100;
  problem.stride_c = 3;
  problem.beta = 2;
  problem = *make_problem(problem);
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  const auto ran =
      matmul.run(first_algo(matmul), product.operands(), {nullptr, kWorkspace}, nullptr);
  ASSERT_TRUE(ran) << ran.error().what;
  EXPECT_EQ(product.difference(), "");
}

TEST_F(LtMatmulFake, DMayBeCInPlace) {
  Problem problem = vendor::problem_of(6, 10, 4);
  problem.alpha = 2;
  problem.beta = 3;
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  ASSERT_TRUE(matmul.run(first_algo(matmul), product.in_place(), {nullptr, kWorkspace}, nullptr));
  EXPECT_EQ(product.difference(true), "");
}

TEST_F(LtMatmulFake, ScaleTypeFollowsTheAccumulator) {
  Problem problem = vendor::problem_of(8, 8, 8);
  {
    const LtMatmul matmul = matmul_of(problem);
    HostProduct product(problem);
    ASSERT_TRUE(matmul.run(first_algo(matmul), product.operands(), {nullptr, kWorkspace}, nullptr));
    EXPECT_EQ(fake().compute_type, CUBLAS_COMPUTE_32F);
    EXPECT_EQ(fake().scale_type, CUDA_R_32F);
  }
  fake().matmul_calls = 0;
  problem.accumulator = DataType::kF16;
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  ASSERT_TRUE(matmul.run(first_algo(matmul), product.operands(), {nullptr, kWorkspace}, nullptr));
  EXPECT_EQ(fake().compute_type, CUBLAS_COMPUTE_16F);
  EXPECT_EQ(fake().scale_type, CUDA_R_16F);
}

TEST_F(LtMatmulFake, HeuristicIsToldAlignmentOfTheExchangedOperandsAndTheWorkspace) {
  Problem problem = vendor::problem_of(8, 8, 8);
  problem.beta = 1;
  problem.alignment = {2, 4, 8, 16};
  const auto algos = matmul_of(problem, 12345).heuristics(64);
  ASSERT_TRUE(algos) << algos.error().what;
  EXPECT_EQ(fake().requested_algos, 64);
  EXPECT_EQ(fake().workspace_limit, 12345u);
  EXPECT_EQ(fake().alignment[0], 4u);  // the library's A is our B
  EXPECT_EQ(fake().alignment[1], 2u);
  EXPECT_EQ(fake().alignment[2], 8u);
  EXPECT_EQ(fake().alignment[3], 16u);
}

TEST_F(LtMatmulFake, UnreadCIsReplacedByDSoThatItCannotRestrictTheChoice) {
  Problem problem = vendor::problem_of(8, 8, 8);
  problem.ldc = 9;
  problem.alignment.c = 2;
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  Operands operands = product.operands();
  operands.c = nullptr;
  ASSERT_TRUE(matmul.run(first_algo(matmul), operands, {nullptr, kWorkspace}, nullptr));
  EXPECT_EQ(fake().c, operands.d);
  EXPECT_EQ(fake().alignment[2], 256u);
  EXPECT_EQ(product.difference(), "");
}

TEST_F(LtMatmulFake, DeviceScalarsPassAsPointersAndKeepC) {
  const Problem problem = vendor::problem_of(8, 8, 8);  // beta 0 here, unknown on the device
  const LtMatmul matmul = matmul_of(problem, kWorkspace, ScalarMode::kDevice);
  HostProduct product(problem);
  const Operands operands = product.operands();
  const float alpha = 1, beta = 0;
  ASSERT_TRUE(matmul.run(first_algo(matmul), operands, Scalars::device(&alpha, &beta),
                         {nullptr, kWorkspace}, nullptr));
  EXPECT_EQ(fake().pointer_mode, CUBLASLT_POINTER_MODE_DEVICE);
  EXPECT_EQ(fake().alpha, &alpha);
  EXPECT_EQ(fake().c, operands.c);
}

TEST_F(LtMatmulFake, ScalarsOfTheOtherModeAreRefused) {
  const Problem problem = vendor::problem_of(8, 8, 8);
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  const float one = 1;
  const auto ran = matmul.run(first_algo(matmul), product.operands(), Scalars::device(&one, &one),
                              {nullptr, kWorkspace}, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().what,
            "scalars are on the device, the descriptors of 8_8_8 f16/f32 tn expect the host");
  EXPECT_EQ(fake().matmul_calls, 0);
}

TEST_F(LtMatmulFake, BetaThatTheDescriptorsDoNotReadIsRefused) {
  const Problem problem = vendor::problem_of(8, 8, 8);
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  const auto ran = matmul.run(first_algo(matmul), product.operands(), Scalars::host(1, 2),
                              {nullptr, kWorkspace}, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().what,
            "beta = 2 for descriptors of 8_8_8 f16/f32 tn that were made for beta = 0");
}

TEST_F(LtMatmulFake, AlgorithmsBeyondTheWorkspaceAreLeftOut) {
  fake().heuristic_workspace = 4097;
  const Problem problem = vendor::problem_of(8, 8, 8);
  const auto roomy = matmul_of(problem, 4097).heuristics(8);
  const auto tight = matmul_of(problem, 4096).heuristics(8);
  ASSERT_TRUE(roomy && tight);
  EXPECT_EQ(roomy->size(), tight->size() + 1);
  EXPECT_EQ(roomy->front().workspace_bytes, 4097);
}

TEST_F(LtMatmulFake, WorkspaceSmallerThanTheAlgorithmNeedsIsRefused) {
  const Problem problem = vendor::problem_of(8, 8, 8);
  const LtMatmul matmul = matmul_of(problem);
  LtAlgo algo = first_algo(matmul);
  algo.workspace_bytes = 4096;
  HostProduct product(problem);
  const auto ran = matmul.run(algo, product.operands(), {nullptr, 4095}, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ran.error().what,
            "the workspace has 4095 bytes; cuBLASLt's choice for 8_8_8 f16/f32 tn needs 4096");
  EXPECT_EQ(fake().matmul_calls, 0);
}

TEST_F(LtMatmulFake, CheckRefusesAnAlgorithmThatNeedsMoreAlignment) {
  Problem problem = vendor::problem_of(8, 8, 8);
  const LtAlgo algo = first_algo(matmul_of(problem));
  problem.alignment.a = 8;
  const auto checked = matmul_of(problem).check(algo.algo);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(checked.error().what,
            "this algorithm needs A aligned to 16 bytes for 8_8_8 f16/f32 tn "
            "align=8,256,256,256; it is aligned to 8");
}

TEST_F(LtMatmulFake, NothingToMultiplyIsUnsupported) {
  for (const auto& [m, n, k] : {std::tuple{0, 8, 8}, std::tuple{8, 0, 8}, std::tuple{8, 8, 0}}) {
    const auto matmul = LtMatmul::create(handle(), vendor::problem_of(m, n, k), kWorkspace);
    ASSERT_FALSE(matmul);
    EXPECT_EQ(matmul.error().code, ErrorCode::kUnsupported);
  }
}

TEST_F(LtMatmulFake, NoAlgorithmIsUnsupportedAndNamesTheProblem) {
  fake().heuristic_finds_none = true;
  const auto algos = matmul_of(vendor::problem_of(8, 8, 8)).heuristics(8);
  ASSERT_FALSE(algos);
  EXPECT_EQ(algos.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(algos.error().what,
            "cuBLASLt 13.1.0 has no algorithm for 8_8_8 f16/f32 tn in 1048576 workspace bytes");
}

TEST_F(LtMatmulFake, FailedLaunchNamesTheStatus) {
  const Problem problem = vendor::problem_of(8, 8, 8);
  const LtMatmul matmul = matmul_of(problem);
  HostProduct product(problem);
  fake().matmul_status = CUBLAS_STATUS_EXECUTION_FAILED;
  const auto ran =
      matmul.run(first_algo(matmul), product.operands(), {nullptr, kWorkspace}, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kDevice);
  EXPECT_EQ(ran.error().what,
            "cublasLtMatmul of 8_8_8 f16/f32 tn failed: CUBLAS_STATUS_EXECUTION_FAILED (13)");
}

TEST(HostScalars, AreHalvesForF16Accumulation) {
  const HostScalars half(Scalars::host(1.5f, -2), DataType::kF16);
  EXPECT_EQ(__half2float(*static_cast<const __half*>(half.alpha())), 1.5f);
  EXPECT_EQ(__half2float(*static_cast<const __half*>(half.beta())), -2.0f);
  const HostScalars full(Scalars::host(1.5f, -2), DataType::kF32);
  EXPECT_EQ(*static_cast<const float*>(full.alpha()), 1.5f);
  EXPECT_EQ(*static_cast<const float*>(full.beta()), -2.0f);
}

}  // namespace
}  // namespace gemmsmith::vendor
