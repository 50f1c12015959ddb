// hooks.cpp -- the functions that the preloaded library puts in cuBLAS's place. Each says what it
// was asked in one form (gemm_call.h); a plan serves it, or the real function gets the caller's
// very arguments. What the real library calls in turn passes through.
#include <cublasLt.h>
#include <cublas_api.h>
#include <dlfcn.h>

#include <atomic>

#include "blas/gemm_call.h"
#include "blas/mode.h"
#include "blas/observer.h"
#include "blas/real_blas.h"
#include "blas/server.h"
#include "blas/workspaces.h"

#define GEMMSMITH_HOOK extern "C" __attribute__((visibility("default")))

namespace gemmsmith::blas {
namespace {

// Greater than 0 inside a real function: what that one calls is its own affair.
thread_local int depth = 0;

std::atomic<bool> was_called{false};

class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// The caller's real function. One that is null may be in a library that was loaded since.
template <auto kFunction>
auto real_function(const void* return_address) {
  const auto function = caller_at(return_address).real.*kFunction;
  return function != nullptr ? function : caller_at_again(return_address).real.*kFunction;
}

template <auto kFunction, class... Args>
cublasStatus_t pass(const void* return_address, Args... args) {
  const auto function = real_function<kFunction>(return_address);
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Inside inside;
  return function(args...);
}

// Whether nothing is to be looked at.
bool is_left_alone() { return depth > 0 || mode() == Mode::kOff; }

// Whether a plan served the call. An exception, of which only want of memory could be one, is no
// business of the program's.
bool is_served(GemmCall& call) noexcept {
  const Inside inside;  // the runtime's own calls of cuBLASLt
  try {
    Server* const server = Server::of_process(call.stream);
    return server != nullptr && server->serve(call);
  } catch (...) {
    return false;
  }
}

template <auto kFunction, class... Args>
cublasStatus_t observe(const void* return_address, const GemmCall& call, Args... args) {
  Server* const server = call.reason == Reason::kNone ? Server::of_process(call.stream) : nullptr;
  const Observer::Sample sample(Observer::of_process(), call, server);
  return pass<kFunction>(return_address, args...);
}

template <auto kFunction, class... Args>
cublasStatus_t serve_or_pass(const void* return_address, GemmCall& call, Args... args) {
  was_called.store(true, std::memory_order_relaxed);
  if (caller_at(return_address).is_private) call.reason = Reason::kPrivate;
  if (mode() == Mode::kObserve) return observe<kFunction>(return_address, call, args...);
  if (call.reason == Reason::kNone && is_served(call)) return CUBLAS_STATUS_SUCCESS;
  return pass<kFunction>(return_address, args...);
}

template <auto kFunction, class... Args>
cublasStatus_t gemm(const void* return_address, cublasHandle_t handle,
                    const GemmArguments& arguments, Args... args) {
  const Workspaces::Workspace workspace = Workspaces::of_process().of(handle);
  const RealBlas& real = caller_at(return_address).real;
  GemmCall call = read_gemm(real, handle, arguments, workspace.data, workspace.bytes);
  return serve_or_pass<kFunction>(return_address, call, args...);
}

// At the end of the process the driver may be gone: nothing here touches it.
__attribute__((destructor)) void report_at_exit() {
  if (mode() != Mode::kObserve) return;
  // A shell in between has no GPU work to tell of.
  const bool uses_gpu = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  if (was_called || uses_gpu) Observer::of_process().report();
}

}  // namespace
}  // namespace gemmsmith::blas

using namespace gemmsmith::blas;

#define GEMMSMITH_CALLER __builtin_return_address(0)

// Integers are int in the first form and int64_t in the one that ends with _64.
#define GEMMSMITH_GEMM_EX(name, Int)                                                               \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const void* alpha, const void* A, cudaDataType type_a, Int lda, const void* B,        \
      cudaDataType type_b, Int ldb, const void* beta, void* C, cudaDataType type_c, Int ldc,       \
      cublasComputeType_t compute_type, cublasGemmAlgo_t algo) {                                   \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, type_a, lda, \
                                   B, type_b, ldb, beta, C, type_c, ldc, compute_type, algo);      \
    return gemm<&RealBlas::name>(                                                                  \
        caller, handle,                                                                            \
        {transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc,     \
         static_cast<int>(compute_type), static_cast<int>(algo), 1},                               \
        handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb, beta, C, type_c,   \
        ldc, compute_type, algo);                                                                  \
  }
GEMMSMITH_GEMM_EX(GemmEx, int)
GEMMSMITH_GEMM_EX(GemmEx_64, int64_t)

#define GEMMSMITH_HGEMM(name, Int)                                                                 \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const __half* alpha, const __half* A, Int lda, const __half* B, Int ldb,              \
      const __half* beta, __half* C, Int ldc) {                                                    \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, \
                                   beta, C, ldc);                                                  \
    return gemm<&RealBlas::name>(                                                                  \
        caller, handle,                                                                            \
        {transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, B, CUDA_R_16F, ldb, beta, C,          \
         CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT, 1},                             \
        handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                     \
  }
GEMMSMITH_HGEMM(Hgemm, int)
GEMMSMITH_HGEMM(Hgemm_64, int64_t)

#define GEMMSMITH_STRIDED_EX(name, Int)                                                            \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const void* alpha, const void* A, cudaDataType type_a, Int lda,                       \
      long long int stride_a, const void* B, cudaDataType type_b, Int ldb, long long int stride_b, \
      const void* beta, void* C, cudaDataType type_c, Int ldc, long long int stride_c, Int batch,  \
      cublasComputeType_t compute_type, cublasGemmAlgo_t algo) {                                   \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, type_a, lda, \
                                   stride_a, B, type_b, ldb, stride_b, beta, C, type_c, ldc,       \
                                   stride_c, batch, compute_type, algo);                           \
    return gemm<&RealBlas::name>(caller, handle,                                                   \
                                 {transa,                                                          \
                                  transb,                                                          \
                                  m,                                                               \
                                  n,                                                               \
                                  k,                                                               \
                                  alpha,                                                           \
                                  A,                                                               \
                                  type_a,                                                          \
                                  lda,                                                             \
                                  B,                                                               \
                                  type_b,                                                          \
                                  ldb,                                                             \
                                  beta,                                                            \
                                  C,                                                               \
                                  type_c,                                                          \
                                  ldc,                                                             \
                                  static_cast<int>(compute_type),                                  \
                                  static_cast<int>(algo),                                          \
                                  batch,                                                           \
                                  stride_a,                                                        \
                                  stride_b,                                                        \
                                  stride_c},                                                       \
                                 handle, transa, transb, m, n, k, alpha, A, type_a, lda, stride_a, \
                                 B, type_b, ldb, stride_b, beta, C, type_c, ldc, stride_c, batch,  \
                                 compute_type, algo);                                              \
  }
GEMMSMITH_STRIDED_EX(GemmStridedBatchedEx, int)
GEMMSMITH_STRIDED_EX(GemmStridedBatchedEx_64, int64_t)

#define GEMMSMITH_HGEMM_STRIDED(name, Int)                                                         \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const __half* alpha, const __half* A, Int lda, long long int stride_a,                \
      const __half* B, Int ldb, long long int stride_b, const __half* beta, __half* C, Int ldc,    \
      long long int stride_c, Int batch) {                                                         \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, lda,         \
                                   stride_a, B, ldb, stride_b, beta, C, ldc, stride_c, batch);     \
    return gemm<&RealBlas::name>(caller, handle, {transa,                                          \
                                                  transb,                                          \
                                                  m,                                               \
                                                  n,                                               \
                                                  k,                                               \
                                                  alpha,                                           \
                                                  A,                                               \
                                                  CUDA_R_16F,                                      \
                                                  lda,                                             \
                                                  B,                                               \
                                                  CUDA_R_16F,                                      \
                                                  ldb,                                             \
                                                  beta,                                            \
                                                  C,                                               \
                                                  CUDA_R_16F,                                      \
                                                  ldc,                                             \
                                                  CUBLAS_COMPUTE_16F,                              \
                                                  CUBLAS_GEMM_DEFAULT,                             \
                                                  batch,                                           \
                                                  stride_a,                                        \
                                                  stride_b,                                        \
                                                  stride_c},                                       \
                                 handle, transa, transb, m, n, k, alpha, A, lda, stride_a, B, ldb, \
                                 stride_b, beta, C, ldc, stride_c, batch);                         \
  }
GEMMSMITH_HGEMM_STRIDED(HgemmStridedBatched, int)
GEMMSMITH_HGEMM_STRIDED(HgemmStridedBatched_64, int64_t)

// Arrays of pointers in device memory: nothing here may look at them, so these are counted only,
// whatever their number of products.
#define GEMMSMITH_BATCHED_EX(name, Int)                                                            \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const void* alpha, const void* const A[], cudaDataType type_a, Int lda,               \
      const void* const B[], cudaDataType type_b, Int ldb, const void* beta, void* const C[],      \
      cudaDataType type_c, Int ldc, Int batch, cublasComputeType_t compute_type,                   \
      cublasGemmAlgo_t algo) {                                                                     \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, type_a, lda, \
                                   B, type_b, ldb, beta, C, type_c, ldc, batch, compute_type,      \
                                   algo);                                                          \
    return gemm<&RealBlas::name>(                                                                  \
        caller, handle,                                                                            \
        {transa, transb, m, n, k, alpha, nullptr, type_a, lda, nullptr, type_b, ldb, beta,         \
         nullptr, type_c, ldc, static_cast<int>(compute_type), static_cast<int>(algo),             \
         kPointerArrays},                                                                          \
        handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb, beta, C, type_c,   \
        ldc, batch, compute_type, algo);                                                           \
  }
GEMMSMITH_BATCHED_EX(GemmBatchedEx, int)
GEMMSMITH_BATCHED_EX(GemmBatchedEx_64, int64_t)

#define GEMMSMITH_HGEMM_BATCHED(name, Int)                                                         \
  GEMMSMITH_HOOK cublasStatus_t cublas##name(                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n,     \
      Int k, const __half* alpha, const __half* const A[], Int lda, const __half* const B[],       \
      Int ldb, const __half* beta, __half* const C[], Int ldc, Int batch) {                        \
    const void* const caller = GEMMSMITH_CALLER;                                                   \
    if (is_left_alone())                                                                           \
      return pass<&RealBlas::name>(caller, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, \
                                   beta, C, ldc, batch);                                           \
    return gemm<&RealBlas::name>(                                                                  \
        caller, handle,                                                                            \
        {transa, transb, m, n, k, alpha, nullptr, CUDA_R_16F, lda, nullptr, CUDA_R_16F, ldb, beta, \
         nullptr, CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT, kPointerArrays},       \
        handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, batch);              \
  }
GEMMSMITH_HGEMM_BATCHED(HgemmBatched, int)
GEMMSMITH_HGEMM_BATCHED(HgemmBatched_64, int64_t)

GEMMSMITH_HOOK cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* A,
    cublasLtMatrixLayout_t layout_a, const void* B, cublasLtMatrixLayout_t layout_b,
    const void* beta, const void* C, cublasLtMatrixLayout_t layout_c, void* D,
    cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algo, void* workspace,
    std::size_t workspace_bytes, cudaStream_t stream) {
  const void* const caller = GEMMSMITH_CALLER;
  if (is_left_alone() || handle == nullptr)
    return pass<&RealBlas::LtMatmul>(caller, handle, operation, alpha, A, layout_a, B, layout_b,
                                     beta, C, layout_c, D, layout_d, algo, workspace,
                                     workspace_bytes, stream);
  GemmCall call =
      read_lt(caller_at(caller).real, {operation, alpha, A, layout_a, B, layout_b, beta, C,
                                       layout_c, D, layout_d, workspace, workspace_bytes, stream});
  return serve_or_pass<&RealBlas::LtMatmul>(caller, call, handle, operation, alpha, A, layout_a, B,
                                            layout_b, beta, C, layout_c, D, layout_d, algo,
                                            workspace, workspace_bytes, stream);
}

// What changes a handle's workspace.

GEMMSMITH_HOOK cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace,
                                                    std::size_t bytes) {
  const cublasStatus_t status =
      pass<&RealBlas::SetWorkspace_v2>(GEMMSMITH_CALLER, handle, workspace, bytes);
  if (status == CUBLAS_STATUS_SUCCESS && mode() == Mode::kOn)
    Workspaces::of_process().set(handle, {workspace, bytes});
  return status;
}

GEMMSMITH_HOOK cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  const cublasStatus_t status = pass<&RealBlas::SetStream_v2>(GEMMSMITH_CALLER, handle, stream);
  if (mode() == Mode::kOn) Workspaces::of_process().forget(handle);
  return status;
}

GEMMSMITH_HOOK cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (mode() == Mode::kOn) Workspaces::of_process().forget(handle);
  // The last moment at which the device is surely there.
  if (mode() == Mode::kObserve && depth == 0) Observer::of_process().collect();
  return pass<&RealBlas::Destroy_v2>(GEMMSMITH_CALLER, handle);
}
