#include "vendor/cublas_gemm.h"

#include "fake_fixture.h"

namespace gemmsmith::vendor {
namespace {

class CublasGemmFake : public FakeLibraryTest {
 protected:
  std::shared_ptr<CublasHandle> cublas() {
    auto created = CublasHandle::create(*BlasLibrary::open());
    if (!created) ADD_FAILURE() << created.error().what;
    return *created;
  }
  const Workspace workspace_ = {nullptr, 32 << 20};
};

TEST_F(CublasGemmFake, RowMajorProductIsRightInEveryLayout) {
  const auto handle = cublas();
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    Problem problem = problem_of(5, 11, 7, layout);
    problem.lda += 2;
    problem.ldb += 1;
    problem.ldc = problem.ldd += 4;
    auto gemm = CublasGemm::create(handle, problem, CublasAlgo::kDefault);
    ASSERT_TRUE(gemm) << gemm.error().what;
    HostProduct product(problem);
    ASSERT_TRUE(gemm->run(product.operands(), workspace_, nullptr));
    EXPECT_EQ(product.difference(), "");
    EXPECT_EQ(fake().gemm_algo, CUBLAS_GEMM_DEFAULT);
  }
}

// Gaps, one A for all, interleaved results: in the batched call's terms.
TEST_F(CublasGemmFake, BatchesAreOneStridedCall) {
  const auto handle = cublas();
  for (const Layout layout : {Layout::kTN, Layout::kNT}) {
    Problem problem = problem_of(5, 11, 7, layout);
    problem.batch = 3;
    Problem gaps = *make_problem(problem);
    gaps.stride_a += 3;
    gaps.stride_b += 4;
    gaps.stride_c = gaps.stride_d += 5;
    Problem shared = problem;
    shared.stride_a = 0;
    shared.ldc = shared.ldd = 40;
    shared.stride_d = 12;
    for (const Problem& batch : {*make_problem(problem), gaps, *make_problem(shared)}) {
      auto gemm = CublasGemm::create(handle, batch, CublasAlgo::kDefault);
      ASSERT_TRUE(gemm) << gemm.error().what;
      HostProduct product(batch);
      fake().cublas_calls.clear();
      ASSERT_TRUE(gemm->run(product.operands(), workspace_, nullptr));
      EXPECT_EQ(product.difference(), "");
      EXPECT_EQ(fake().cublas_calls.back(), "GemmStridedBatchedEx");
    }
  }
  Problem apart = problem_of(5, 11, 7);
  apart.batch = 3;
  apart.beta = 1;
  apart.stride_c = 0;
  EXPECT_EQ(CublasGemm::create(handle, *make_problem(apart), CublasAlgo::kDefault).error().what,
            "cublasGemmStridedBatchedEx adds to D in place: stride_c = 0 and stride_d = 55 must be "
            "equal");
}

TEST_F(CublasGemmFake, F16AccumulationTakesHalfScalars) {
  Problem problem = problem_of(4, 4, 4);
  problem.accumulator = DataType::kF16;
  problem.alpha = 2;
  auto gemm = CublasGemm::create(cublas(), problem, CublasAlgo::kDefault);
  HostProduct product(problem);
  ASSERT_TRUE(gemm->run(product.operands(), workspace_, nullptr));
  EXPECT_EQ(fake().compute_type, CUBLAS_COMPUTE_16F);
  EXPECT_EQ(product.difference(), "");
}

// ggml-org/llama.cpp#26119: setting the stream drops the user's workspace.
TEST_F(CublasGemmFake, WorkspaceIsSetAgainAfterTheStream) {
  auto gemm = CublasGemm::create(cublas(), problem_of(4, 4, 4), CublasAlgo::kDefault);
  HostProduct product(problem_of(4, 4, 4));
  fake().cublas_calls.clear();
  ASSERT_TRUE(gemm->run(product.operands(), workspace_, nullptr));
  EXPECT_EQ(fake().cublas_calls, (std::vector<std::string>{"SetStream", "SetWorkspace", "GemmEx"}));
  EXPECT_EQ(fake().workspace_bytes, 32u << 20);
}

TEST_F(CublasGemmFake, AutotuneRunsOnlyOnceItIsPrimed) {
  auto gemm = CublasGemm::create(cublas(), problem_of(4, 4, 4), CublasAlgo::kAutotune);
  ASSERT_TRUE(gemm) << gemm.error().what;
  HostProduct product(problem_of(4, 4, 4));
  const auto early = gemm->run(product.operands(), workspace_, nullptr);
  ASSERT_FALSE(early);
  EXPECT_EQ(
      early.error().what,
      "cuBLAS autotune of 4_4_4 f16/f32 tn must be primed before it runs: its trial cannot be "
      "captured");
  ASSERT_TRUE(gemm->prime(product.operands(), workspace_, nullptr));
  ASSERT_TRUE(gemm->run(product.operands(), workspace_, nullptr));
  EXPECT_EQ(fake().gemm_algo, 999);
}

TEST_F(CublasGemmFake, AutotuneNeedsCublas13) {
  fake().version = fake().cublas_version = 120900;
  const auto gemm = CublasGemm::create(cublas(), problem_of(4, 4, 4), CublasAlgo::kAutotune);
  ASSERT_FALSE(gemm);
  EXPECT_EQ(gemm.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(gemm.error().what, "CUBLAS_GEMM_AUTOTUNE needs cuBLAS 13.0 or newer");
}

// pytorch/pytorch#174320: libcublas of one installation with libcublasLt of another.
TEST_F(CublasGemmFake, LibrariesOfTwoInstallationsAreRefused) {
  fake().cublas_version = 120900;
  const auto created = CublasHandle::create(*BlasLibrary::open());
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(created.error().what,
            fmt::format("cuBLAS 12.9.0 ({0}) and cuBLASLt 13.1.0 ({0}) are of different "
                        "installations; set GEMMSMITH_CUBLAS and GEMMSMITH_CUBLASLT to one of them",
                        GEMMSMITH_FAKE_CUBLASLT));
}

TEST_F(CublasGemmFake, BetaAddsInPlaceOnly) {
  Problem problem = problem_of(4, 4, 4);
  problem.beta = 1;
  const auto handle = cublas();
  auto gemm = CublasGemm::create(handle, problem, CublasAlgo::kDefault);
  ASSERT_TRUE(gemm) << gemm.error().what;
  HostProduct apart(problem);
  EXPECT_FALSE(gemm->run(apart.operands(), workspace_, nullptr));
  HostProduct in_place(problem);
  ASSERT_TRUE(gemm->run(in_place.in_place(), workspace_, nullptr));
  EXPECT_EQ(in_place.difference(true), "");
  problem.ldc = 8;
  EXPECT_FALSE(CublasGemm::create(handle, problem, CublasAlgo::kDefault));
}

}  // namespace
}  // namespace gemmsmith::vendor
