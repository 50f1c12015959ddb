// What the descriptors of NVIDIA's own cuBLASLt say, which needs no GPU: a plain one is known as
// plain and each attribute that changes what is computed is seen.
#include "blas/gemm_call.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>

#include "vendor/library_names.h"

namespace gemmsmith::blas {
namespace {

// The real library's functions; skipped where it is not here.
class RealDescriptors : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = nullptr;
    for (const std::string& name : vendor::library_names("GEMMSMITH_REAL_CUBLASLT", "libcublasLt"))
      if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << "unavailable: no cuBLASLt on this machine";
    find(library, "cublasLtMatmulDescGetAttribute", real_.LtMatmulDescGetAttribute);
    find(library, "cublasLtMatrixLayoutGetAttribute", real_.LtMatrixLayoutGetAttribute);
    find(library, "cublasLtGetVersion", real_.LtGetVersion);
    find(library, "cublasLtMatmulDescCreate", create_operation_);
    find(library, "cublasLtMatmulDescSetAttribute", set_operation_);
    find(library, "cublasLtMatmulDescDestroy", destroy_operation_);
    find(library, "cublasLtMatrixLayoutCreate", create_layout_);
    find(library, "cublasLtMatrixLayoutSetAttribute", set_layout_);
    find(library, "cublasLtMatrixLayoutDestroy", destroy_layout_);
    ASSERT_EQ(create_operation_(&arguments_.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
    create_layout_(&arguments_.layout_a, CUDA_R_16F, 128, 64, 136);
    create_layout_(&arguments_.layout_b, CUDA_R_16F, 128, 32, 144);
    create_layout_(&arguments_.layout_c, CUDA_R_16F, 64, 32, 72);
    create_layout_(&arguments_.layout_d, CUDA_R_16F, 64, 32, 80);
    if (real_.LtGetVersion() > CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + 99)
      GTEST_SKIP() << "unavailable: cuBLASLt is newer than the headers";
  }
  void TearDown() override {
    if (destroy_operation_ != nullptr) destroy_operation_(arguments_.operation);
    if (destroy_layout_ == nullptr) return;
    for (const auto layout :
         {arguments_.layout_a, arguments_.layout_b, arguments_.layout_c, arguments_.layout_d})
      destroy_layout_(layout);
  }

  template <class Function>
  static void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(set_operation_(arguments_.operation, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS)
        << attribute;
  }
  template <class T>
  void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
    ASSERT_EQ(set_layout_(layout, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }

  RealBlas real_;
  LtArguments arguments_ = {};
  decltype(&cublasLtMatmulDescCreate) create_operation_ = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation_ = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation_ = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout_ = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout_ = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout_ = nullptr;
};

TEST_F(RealDescriptors, APlainProductIsKnown) {
  const GemmCall call = read_lt(real_, arguments_);
  EXPECT_EQ(call.reason, Reason::kNone) << reason_text(call.reason);
  const gemmsmithProblem_t& p = call.problem;
  EXPECT_EQ(p.transa, GEMMSMITH_OP_T);
  EXPECT_EQ(p.transb, GEMMSMITH_OP_N);
  EXPECT_EQ(p.m, 64);
  EXPECT_EQ(p.n, 32);
  EXPECT_EQ(p.k, 128);
  EXPECT_EQ(p.lda, 136);
  EXPECT_EQ(p.ldb, 144);
  EXPECT_EQ(p.ldc, 72);
  EXPECT_EQ(p.ldd, 80);
  EXPECT_EQ(p.type, GEMMSMITH_R_16F);
  EXPECT_EQ(p.compute_type, GEMMSMITH_COMPUTE_32F);
  EXPECT_FALSE(call.allows_vendor_plans);
}

TEST_F(RealDescriptors, WhatChangesTheProductIsSeen) {
  const void* const pointer = this;  // never dereferenced
  struct Change {
    const char* name;
    std::function<void()> make;
    std::function<void()> undo;
    Reason reason;
  };
  const auto attribute = [&](const char* name, cublasLtMatmulDescAttributes_t which, auto value,
                             auto before, Reason reason) {
    return Change{name, [=, this] { set(which, value); }, [=, this] { set(which, before); },
                  reason};
  };
  const void* const null = nullptr;
  const std::vector<Change> changes = {
      attribute("epilogue", CUBLASLT_MATMUL_DESC_EPILOGUE,
                static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_RELU),
                static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_DEFAULT), Reason::kEpilogue),
      attribute("pointer mode", CUBLASLT_MATMUL_DESC_POINTER_MODE,
                std::int32_t{CUBLASLT_POINTER_MODE_DEVICE_VECTOR},
                std::int32_t{CUBLASLT_POINTER_MODE_HOST}, Reason::kMode),
      attribute("scale of A", CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, pointer, null, Reason::kLayout),
      attribute("scale of D", CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, pointer, null, Reason::kLayout),
      attribute("amax of D", CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, pointer, null, Reason::kLayout),
      attribute("SM limit", CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{16}, std::int32_t{0},
                Reason::kLayout),
      attribute("transposed C", CUBLASLT_MATMUL_DESC_TRANSC, std::int32_t{CUBLAS_OP_T},
                std::int32_t{CUBLAS_OP_N}, Reason::kLayout),
  };
  for (const Change& change : changes) {
    change.make();
    EXPECT_EQ(read_lt(real_, arguments_).reason, change.reason) << change.name;
    change.undo();
    EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kNone) << change.name;
  }
  set(arguments_.layout_a, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
  EXPECT_NE(read_lt(real_, arguments_).reason, Reason::kNone);
  set(arguments_.layout_a, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_COL});
  set(arguments_.layout_d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
  EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kArguments) << "of D alone";
  set(arguments_.layout_d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{1});
  set(arguments_.layout_d, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_32F});
  EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kTypes) << "C is not D";
  set(arguments_.layout_c, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_32F});
  EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kNone);
  EXPECT_EQ(read_lt(real_, arguments_).problem.output, GEMMSMITH_OUTPUT_32F);
  set(arguments_.layout_c, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_64F});
  set(arguments_.layout_d, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_64F});
  EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kTypes);
}

TEST_F(RealDescriptors, BatchesHaveTheirStrides) {
  std::int64_t stride = 10000;
  for (const auto layout :
       {arguments_.layout_a, arguments_.layout_b, arguments_.layout_c, arguments_.layout_d}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{5});
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride++);
  }
  const GemmCall call = read_lt(real_, arguments_);
  EXPECT_EQ(call.reason, Reason::kNone) << reason_text(call.reason);
  EXPECT_EQ(call.batch, 5);
  EXPECT_EQ(call.problem.batch, 5);
  EXPECT_EQ(call.problem.stride_a, 10000);
  EXPECT_EQ(call.problem.stride_b, 10001);
  EXPECT_EQ(call.problem.stride_c, 10002);
  EXPECT_EQ(call.problem.stride_d, 10003);
  constexpr auto kBatchMode = static_cast<cublasLtMatrixLayoutAttribute_t>(8);
  const std::uint32_t pointers = 1;
  if (set_layout_(arguments_.layout_b, kBatchMode, &pointers, sizeof pointers) !=
      CUBLAS_STATUS_SUCCESS)
    GTEST_SKIP() << "unavailable: this cuBLASLt has no arrays of pointers";
  EXPECT_EQ(read_lt(real_, arguments_).reason, Reason::kBatch);
}

TEST_F(RealDescriptors, OneProductHasNoStrides) {
  for (const auto layout :
       {arguments_.layout_a, arguments_.layout_b, arguments_.layout_c, arguments_.layout_d})
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{-7});
  const GemmCall call = read_lt(real_, arguments_);
  EXPECT_EQ(call.reason, Reason::kNone) << reason_text(call.reason);
  EXPECT_EQ(call.problem.stride_a, 0);
  EXPECT_EQ(call.problem.stride_d, 0);
}

TEST(GemmArguments, OneProductHasNoStrides) {
  GemmArguments arguments = {};
  arguments.m = arguments.n = arguments.k = 8;
  arguments.stride_a = arguments.stride_b = arguments.stride_c = -8;
  for (const std::int64_t batch : {1, 2}) {
    arguments.batch = batch;
    const gemmsmithProblem_t problem = read_gemm({}, nullptr, arguments, nullptr, 0).problem;
    const std::int64_t expected = batch == 1 ? 0 : -8;  // the latter is cuBLAS's to refuse
    EXPECT_EQ(problem.stride_a, expected);
    EXPECT_EQ(problem.stride_b, expected);
    EXPECT_EQ(problem.stride_c, expected);
    EXPECT_EQ(problem.stride_d, expected);
  }
}

TEST(PrivateLibraries, AreKnownByTheirNames) {
  EXPECT_TRUE(is_private_library("/usr/lib/libcublas.so.13"));
  EXPECT_TRUE(is_private_library("libcublasLt.so.13"));
  EXPECT_TRUE(is_private_library("/a b/nvidia/cu13/lib/libcudnn_ops.so.9"));
  EXPECT_TRUE(is_private_library("/x/libcusolver.so.12"));
  EXPECT_FALSE(is_private_library("/x/libtorch_cuda.so"));
  EXPECT_FALSE(is_private_library("/libcublas.so.13/program"));
  EXPECT_FALSE(is_private_library("/x/mylibcublas.so"));
  EXPECT_FALSE(is_private_library(""));
}

}  // namespace
}  // namespace gemmsmith::blas
