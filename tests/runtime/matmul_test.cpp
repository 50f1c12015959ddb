// Whole gemmsmithMatmul calls that cuBLASLt serves: layouts, scalars, degenerate sizes, aliasing.
#include <cuda.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>
#include <tuple>
#include <utility>

#include "runtime/fixture.h"

namespace gemmsmith::runtime {
namespace {

TEST_F(RuntimeTest, EveryLayoutTypeAndAccumulatorIsExact) {
  for (const std::int32_t transa : {GEMMSMITH_OP_N, GEMMSMITH_OP_T, GEMMSMITH_OP_C})
    for (const std::int32_t transb : {GEMMSMITH_OP_N, GEMMSMITH_OP_T, GEMMSMITH_OP_C})
      for (const auto& [type, compute] : {std::pair{GEMMSMITH_R_16F, GEMMSMITH_COMPUTE_32F},
                                          std::pair{GEMMSMITH_R_16F, GEMMSMITH_COMPUTE_16F},
                                          std::pair{GEMMSMITH_R_16BF, GEMMSMITH_COMPUTE_32F}}) {
        ProductOptions options;
        options.transa = transa;
        options.transb = transb;
        options.type = type;
        options.compute_type = compute;
        Product product(options);
        EXPECT_EQ(product.run_and_compare(handle_), "") << transa << transb << type << compute;
        EXPECT_EQ(product.run_and_compare(handle_, 2, -1), "") << transa << transb << type;
      }
}

// A3, A4, A6, A8, A14: odd sizes, padded leading dimensions and pointers at any element.
TEST_F(RuntimeTest, OddSizesStridesAndOffsetsAreExact) {
  for (const std::int64_t size : {1, 3, 7, 33})
    for (const std::int64_t offset : {0, 1, 2, 4, 8}) {
      ProductOptions options;
      options.m = size;
      options.n = 35 - size;
      options.k = size + 2;
      options.pad_a = 1;
      options.pad_b = 2;
      options.pad_c = 3;
      options.pad_d = 5;
      options.offset_a = offset;
      options.offset_b = 8 - offset;
      options.offset_c = 1;
      options.offset_d = offset / 2;
      Product product(options);
      EXPECT_EQ(product.run_and_compare(handle_, 1, 1), "") << size << " " << offset;
    }
}

// A8: cuBLASLt is told each pointer's real alignment.
TEST_F(RuntimeTest, FallbackKnowsEachPointersAlignment) {
  ProductOptions options;
  options.offset_a = 1;
  options.offset_b = 2;
  options.offset_c = 4;
  options.offset_d = 8;
  Product product(options);
  ASSERT_EQ(product.run_and_compare(handle_, 1, 1), "");
  EXPECT_EQ(fake_lt().alignment[0], 2U);
  EXPECT_EQ(fake_lt().alignment[1], 4U);
  EXPECT_EQ(fake_lt().alignment[2], 8U);
  EXPECT_EQ(fake_lt().alignment[3], 16U);
}

// B3, B4: nothing to compute is a success without a launch, whatever the pointers are.
TEST_F(RuntimeTest, EmptyOutputLaunchesNothing) {
  const float one = 1;
  for (const auto& [m, n, k] : {std::tuple{0, 8, 8}, std::tuple{8, 0, 8}, std::tuple{0, 0, 0}}) {
    gemmsmithProblem_t problem = Product().problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    EXPECT_EQ(gemmsmithMatmul(handle_, &problem, &one, nullptr, nullptr, &one, nullptr, nullptr,
                              nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS);
  }
  EXPECT_EQ(gpu().launches, 0);
  EXPECT_EQ(fake_lt().matmul_calls, 0);
}

// B1, B2: k = 0 gives beta * C, zeros with beta = 0, and never what was in D before.
TEST_F(RuntimeTest, EmptySumIsBetaTimesC) {
  for (const std::int32_t type : {GEMMSMITH_R_16F, GEMMSMITH_R_16BF})
    for (const float beta : {0.0F, 1.0F, 0.5F}) {
      ProductOptions options;
      options.type = type;
      options.k = 0;
      options.pad_d = 3;
      Product product(options);
      EXPECT_EQ(product.run_and_compare(handle_, 1, beta), "") << type << " " << beta;
    }
  EXPECT_EQ(fake_lt().matmul_calls, 0);
}

// C3: alpha = 0 keeps NaNs of A and B out.
TEST_F(RuntimeTest, ZeroAlphaIgnoresFactors) {
  Product product;
  product.a.fill_nan();
  product.b.fill_nan();
  EXPECT_EQ(product.run_and_compare(handle_, 0, 2), "");
}

// C1: beta = 0 keeps NaNs of C out, and C may be missing.
TEST_F(RuntimeTest, ZeroBetaIgnoresC) {
  Product product;
  product.c.fill_nan();
  EXPECT_EQ(product.run_and_compare(handle_), "");
  const float one = 1;
  const float zero = 0;
  product.d.fill_nan();
  ASSERT_EQ(gemmsmithMatmul(handle_, &product.problem, &one, product.a.data(), product.b.data(),
                            &zero, nullptr, product.d.data(), nullptr, 0, nullptr),
            GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(product.difference(), "");
}

// C7: in place, beta is applied once.
TEST_F(RuntimeTest, OutputMayBeC) {
  for (const float alpha : {1.0F, 0.0F}) {
    Product product;
    for (std::int64_t j = 0; j < product.problem.n; ++j)
      for (std::int64_t i = 0; i < product.problem.m; ++i) product.d.set(i, j, product.c.at(i, j));
    ASSERT_EQ(product.run(handle_, alpha, 2, true), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(product.difference(alpha, 2), "") << alpha;
  }
}

TEST_F(RuntimeTest, DeviceScalarsAreReadFromTheirPointers) {
  for (const std::int64_t k : {32, 0})
    for (const std::int32_t compute : {GEMMSMITH_COMPUTE_32F, GEMMSMITH_COMPUTE_16F}) {
      ProductOptions options;
      options.compute_type = compute;
      options.k = k;
      Product product(options);
      product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
      EXPECT_EQ(product.run_and_compare(handle_, 2, 3), "") << k << " " << compute;
      EXPECT_EQ(product.run_and_compare(handle_, 1, 0), "") << k << " " << compute;
    }
}

TEST_F(RuntimeTest, MissingWorkspaceIsAccepted) {
  Product product;
  product.workspace_bytes = 0;
  EXPECT_EQ(product.run_and_compare(handle_), "");
}

TEST_F(RuntimeTest, FailuresOfCublasLtAreReported) {
  fake_lt().matmul_status = 13;
  Product product;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_EXECUTION_FAILED);
  EXPECT_STREQ(gemmsmithGetLastErrorString(),
               "cublasLtMatmul of 24_16_32 f16/f32 tn failed: CUBLAS_STATUS_EXECUTION_FAILED (13)");
}

TEST_F(RuntimeTest, ArgumentErrorsLaunchNothing) {
  Product product;
  product.problem.lda = 5;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(),
               "lda = 5: must be at least 32, the rows of A as stored");
  EXPECT_EQ(fake_lt().matmul_calls, 0);
}

// A call seen before skips the checks by comparing with what passed them: each argument must count.
TEST_F(RuntimeTest, RepeatedCallsAreCheckedAsTheFirstWas) {
  Product product;
  ASSERT_EQ(product.run_and_compare(handle_, 1, 1), "");
  ASSERT_EQ(product.run_and_compare(handle_, 1, 1), "");
  const float one = 1;
  const auto call = [&](const gemmsmithProblem_t& problem, const void* alpha, const void* beta,
                        void* workspace, std::size_t bytes) {
    return gemmsmithMatmul(handle_, &problem, alpha, product.a.data(), product.b.data(), beta,
                           product.c.data(), product.d.data(), workspace, bytes, nullptr);
  };
  EXPECT_EQ(call(product.problem, nullptr, &one, nullptr, 0), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(product.problem, &one, nullptr, nullptr, 0), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(product.problem, &one, &one, nullptr, 16), GEMMSMITH_STATUS_INVALID_VALUE);
  alignas(256) char workspace[512];
  EXPECT_EQ(call(product.problem, &one, &one, workspace + 1, 16), GEMMSMITH_STATUS_INVALID_VALUE);
  gemmsmithProblem_t other = product.problem;
  other.ldd = 1;
  EXPECT_EQ(call(other, &one, &one, nullptr, 0), GEMMSMITH_STATUS_INVALID_VALUE);
  other = product.problem;
  other.size = 4;
  EXPECT_EQ(call(other, &one, &one, nullptr, 0), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(product.problem, &one, &one, nullptr, 0), GEMMSMITH_STATUS_SUCCESS);
}

TEST_F(RuntimeTest, LastErrorBelongsToTheThread) {
  Product product;
  product.problem.m = -7;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_INVALID_VALUE);
  std::thread([&] {
    EXPECT_STREQ(gemmsmithGetLastErrorString(), "");
    EXPECT_EQ(gemmsmithDestroy(nullptr), GEMMSMITH_STATUS_SUCCESS);
  }).join();
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "m = -7: a size must not be negative");
}

TEST_F(RuntimeTest, NullHandleIsReported) {
  Product product;
  EXPECT_EQ(product.run(nullptr), GEMMSMITH_STATUS_NOT_INITIALIZED);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "handle is NULL: create one with gemmsmithCreate");
  EXPECT_EQ(gemmsmithCreate(nullptr), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "handle is NULL: pass the address of a handle");
}

// As the CUDA runtime: a thread without a context gets device 0's.
TEST_F(RuntimeTest, ThreadWithoutContextUsesDeviceZero) {
  std::thread([&] {
    use_device(-1);
    Product product;
    EXPECT_EQ(product.run_and_compare(handle_), "");
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    EXPECT_NE(context, nullptr);
    use_device(-1);
    EXPECT_EQ(product.run_and_compare(handle_), "");
    EXPECT_EQ(gpu().contexts_retained, 1);
  }).join();
}

TEST_F(RuntimeTest, EachContextHasItsOwnState) {
  constexpr int kOwnKernels = 2;  // D = beta * C; bias and activation after the library
  Product product;
  ASSERT_EQ(product.run_and_compare(handle_), "");
  const int loaded = gpu().modules_loaded;
  use_device(1);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().modules_loaded, loaded + kOwnKernels);
  use_device(0);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().modules_loaded, loaded + kOwnKernels);
}

// I1, I8: the first call of a prepared context may be inside a capture.
TEST_F(RuntimeTest, CaptureNeedsNoWarmUpAfterCreate) {
  gpu().is_capturing = true;
  Product product;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(product.run_and_compare(handle_, 0, 2), "");
}

// I1: else it fails with a reason, and without touching the capture.
TEST_F(RuntimeTest, CaptureInAnUnknownContextFailsClearly) {
  use_device(1);
  gpu().is_capturing = true;
  Product product;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_NOT_SUPPORTED);
  EXPECT_STREQ(gemmsmithGetLastErrorString(),
               "this context's first use of the handle is inside a stream capture: call "
               "gemmsmithCreate, gemmsmithLoadPlanTable or one gemmsmithMatmul in it before "
               "capturing");
  gpu().is_capturing = false;
  EXPECT_EQ(product.run_and_compare(handle_), "");
}

// J8: repeated creation leaves nothing behind; the fixture's destructor counts modules and
// cuBLASLt's objects.
TEST_F(RuntimeTest, HandlesGiveEverythingBack) {
  for (int i = 0; i < 100; ++i) {
    gemmsmithHandle_t handle = nullptr;
    ASSERT_EQ(gemmsmithCreate(&handle), GEMMSMITH_STATUS_SUCCESS);
    Product product;
    ASSERT_EQ(product.run_and_compare(handle), "");
    ASSERT_EQ(gemmsmithDestroy(handle), GEMMSMITH_STATUS_SUCCESS);
  }
}

// The kernel for D = beta * C may be unavailable (no PTX translation, N5): only calls that need it
// fail.
TEST_F(RuntimeTest, MissingScalingKernelOnlyConcernsScaling) {
  gpu().fail_module_load = true;
  use_device(1);
  Product product;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(product.run(handle_, 0, 2), GEMMSMITH_STATUS_EXECUTION_FAILED);
  EXPECT_NE(std::string(gemmsmithGetLastErrorString()).find("is CUDA_DISABLE_PTX_JIT set?"),
            std::string::npos)
      << gemmsmithGetLastErrorString();
}

// Any tuple of arguments is answered with a status, and a success is a right product.
RC_GTEST_FIXTURE_PROP(RuntimeTest, AnyArgumentsGiveAStatus, ()) {
  const auto small = rc::gen::inRange<std::int64_t>(-1, 12);
  const auto word = rc::gen::inRange<std::int32_t>(-1, 4);
  Product product;
  gemmsmithProblem_t& problem = product.problem;
  problem.size = *rc::gen::element<std::uint32_t>(0, 79, 80, 80, 80, 80);
  problem.transa = *word;
  problem.transb = *word;
  problem.type = *rc::gen::element<std::int32_t>(-1, 0, 2, 2, 14, 14, 1000);
  problem.compute_type = *rc::gen::element<std::int32_t>(0, 64, 68, 68, 68, 77);
  problem.pointer_mode = *rc::gen::element<std::int32_t>(0, 0, 0, 1, 2);
  problem.m = *small;
  problem.n = *small;
  problem.k = *small;
  problem.lda = *small;
  problem.ldb = *small;
  problem.ldc = *small;
  problem.ldd = *small;
  const int launches = gpu().launches + fake_lt().matmul_calls;
  const gemmsmithStatus_t status = product.run(handle_, 1, 1);
  if (status == GEMMSMITH_STATUS_SUCCESS) {
    RC_ASSERT(problem.m >= 0 && problem.n >= 0 && problem.k >= 0);
    return;
  }
  RC_ASSERT(status == GEMMSMITH_STATUS_INVALID_VALUE || status == GEMMSMITH_STATUS_NOT_SUPPORTED);
  RC_ASSERT(gpu().launches + fake_lt().matmul_calls == launches);
  RC_ASSERT(std::string(gemmsmithGetLastErrorString()) != "");
}

}  // namespace
}  // namespace gemmsmith::runtime
