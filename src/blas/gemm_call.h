// gemm_call.h -- one call of cuBLAS or cuBLASLt in one form, whichever of the hooked functions it
// came through; and whether plans may serve it at all. Values that are not known to mean what the
// plans compute are left to the real library.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>
#include <gemmsmith/gemmsmith.h>

#include <cstdint>

#include "blas/real_blas.h"

namespace gemmsmith::blas {

// Why a call is left to the real library. Each has a few words in reason_text().
enum class Reason {
  kNone,
  kPrivate,    // NVIDIA's own libraries
  kTypes,      // other than f16 or bf16 operands with results of their type or in f32
  kCompute,    // a compute type that plans do not have
  kAlgorithm,  // one asked for by number, or autotuning
  kBatch,      // arrays of pointers
  kMode,       // a math or pointer mode, or a limit of SMs, that plans do not honour
  kEpilogue,   // of cuBLASLt
  kLayout,     // an order of cuBLASLt's that is not by column, or a descriptor that is not known
  kArguments,  // sizes or pointers that the real library shall judge
  kEmpty,      // nothing to multiply
  kNoPlan,     // covered, but no plan serves it
};
constexpr int kReasons = static_cast<int>(Reason::kNoPlan) + 1;
const char* reason_text(Reason reason);

struct GemmCall {
  Reason reason = Reason::kNone;  // other than kNone: not to be served
  gemmsmithProblem_t problem = {};
  std::int64_t batch = 1;
  const void* alpha = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* beta = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
  bool allows_vendor_plans = true;
};

// A number of products that is not looked at: arrays of pointers lie in device memory.
constexpr std::int64_t kPointerArrays = -1;

// What the cublas*gemm* functions are given.
struct GemmArguments {
  cublasOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  cudaDataType_t type_a;
  std::int64_t lda;
  const void* b;
  cudaDataType_t type_b;
  std::int64_t ldb;
  const void* beta;
  void* c;
  cudaDataType_t type_c;
  std::int64_t ldc;
  int compute_type;
  int algorithm;
  std::int64_t batch;  // products, or kPointerArrays
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

// Asks the real library for the handle's modes. `workspace` is what the program gave the handle.
GemmCall read_gemm(const RealBlas& real, cublasHandle_t handle, const GemmArguments& arguments,
                   void* workspace, std::size_t workspace_bytes);

struct LtArguments {
  cublasLtMatmulDesc_t operation;
  const void* alpha;
  const void* a;
  cublasLtMatrixLayout_t layout_a;
  const void* b;
  cublasLtMatrixLayout_t layout_b;
  const void* beta;
  const void* c;
  cublasLtMatrixLayout_t layout_c;
  void* d;
  cublasLtMatrixLayout_t layout_d;
  void* workspace;
  std::size_t workspace_bytes;
  cudaStream_t stream;
};

// Asks the real library for what the descriptors say.
GemmCall read_lt(const RealBlas& real, const LtArguments& arguments);

}  // namespace gemmsmith::blas
