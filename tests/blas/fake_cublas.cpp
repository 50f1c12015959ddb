#include "blas/fake_cublas.h"

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

FakeCublas state;

struct Handle {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count_target = 0;
};

Handle& of(cublasHandle_t handle) { return *reinterpret_cast<Handle*>(handle); }

double element(const void* data, cudaDataType type, std::int64_t index) {
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[index]);
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
  return static_cast<const float*>(data)[index];
}

void put(void* data, cudaDataType type, std::int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  if (type == CUDA_R_16F)
    static_cast<__half*>(data)[index] = __float2half(narrow);
  else if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16(narrow);
  else
    static_cast<float*>(data)[index] = narrow;
}

struct Gemm {
  cublasOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  std::int64_t lda;
  const void* b;
  std::int64_t ldb;
  const void* beta;
  void* c;
  std::int64_t ldc;
  cudaDataType type;
  cublasComputeType_t compute;
  int type_of_c = -1;  // that of the operands

  cudaDataType c_type() const {
    return type_of_c < 0 ? type : static_cast<cudaDataType>(type_of_c);
  }
};

void multiply(const Gemm& g) {
  const cudaDataType scale = g.compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F;
  // Byte by byte: the caller's scalars may lie anywhere.
  unsigned char alpha[4];
  unsigned char beta[4];
  for (int i = 0; i < (scale == CUDA_R_16F ? 2 : 4); ++i) {
    alpha[i] = static_cast<const unsigned char*>(g.alpha)[i];
    beta[i] = static_cast<const unsigned char*>(g.beta)[i];
  }
  for (std::int64_t j = 0; j < g.n; ++j)
    for (std::int64_t i = 0; i < g.m; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < g.k; ++p)
        sum += element(g.a, g.type, g.transa != 0 ? p + i * g.lda : i + p * g.lda) *
               element(g.b, g.type, g.transb != 0 ? j + p * g.ldb : p + j * g.ldb);
      const double factor = element(beta, scale, 0);
      double value = element(alpha, scale, 0) * sum;
      if (factor != 0) value += factor * element(g.c, g.c_type(), i + j * g.ldc);
      put(g.c, g.c_type(), i + j * g.ldc, value);
    }
}

// Through cuBLASLt's exported name, which a preloaded library has taken.
cublasStatus_t multiply_through_lt(const Gemm& g, cudaStream_t stream) {
  cublasLtHandle_t lt = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtCreate(&lt);
  cublasLtMatmulDescCreate(&operation, g.compute,
                           g.compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F);
  const std::int32_t ta = g.transa;
  const std::int32_t tb = g.transb;
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  cublasLtMatrixLayoutCreate(&a, g.type, size(ta != 0 ? g.k : g.m), size(ta != 0 ? g.m : g.k),
                             g.lda);
  cublasLtMatrixLayoutCreate(&b, g.type, size(tb != 0 ? g.n : g.k), size(tb != 0 ? g.k : g.n),
                             g.ldb);
  cublasLtMatrixLayoutCreate(&c, g.c_type(), size(g.m), size(g.n), g.ldc);
  const cublasLtMatmulAlgo_t algo = {};
  const cublasStatus_t status = cublasLtMatmul(lt, operation, g.alpha, g.a, a, g.b, b, g.beta, g.c,
                                               c, g.c, c, &algo, nullptr, 0, stream);
  for (const cublasLtMatrixLayout_t layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
  cublasLtDestroy(lt);
  return status;
}

cublasStatus_t run(cublasHandle_t handle, const Gemm& g, int batch) {
  ++state.gemm_calls;
  state.last_batch = batch;
  state.last_alpha = g.alpha;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.lda < 1 || g.ldb < 1 || g.ldc < (g.m > 1 ? g.m : 1))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (g.compute != CUBLAS_COMPUTE_32F && g.compute != CUBLAS_COMPUTE_16F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (g.c_type() != g.type && g.compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (batch != 1) return CUBLAS_STATUS_SUCCESS;
  if (state.works_through_lt) return multiply_through_lt(g, of(handle).stream);
  multiply(g);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublas* fake_cublas_state() { return &state; }

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  of(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = of(handle).stream;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  of(handle).pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = of(handle).pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  of(handle).math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = of(handle).math;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  of(handle).atomics = mode;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  of(handle).sm_count_target = count;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  *count = of(handle).sm_count_target;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) {
  ++state.workspace_calls;
  return CUBLAS_STATUS_SUCCESS;
}

#define FAKE_GEMM_EX(name, Int)                                                                    \
  EXPORT cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,    \
                             Int m, Int n, Int k, const void* alpha, const void* a,                \
                             cudaDataType type, Int lda, const void* b, cudaDataType, Int ldb,     \
                             const void* beta, void* c, cudaDataType out, Int ldc,                 \
                             cublasComputeType_t compute, cublasGemmAlgo_t) {                      \
    return run(handle, {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, type, compute, out}, \
               1);                                                                                 \
  }
FAKE_GEMM_EX(cublasGemmEx, int)
FAKE_GEMM_EX(cublasGemmEx_64, int64_t)

#define FAKE_HGEMM(name, Int)                                                                    \
  EXPORT cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,  \
                             Int m, Int n, Int k, const __half* alpha, const __half* a, Int lda, \
                             const __half* b, Int ldb, const __half* beta, __half* c, Int ldc) { \
    return run(                                                                                  \
        handle,                                                                                  \
        {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, CUDA_R_16F, CUBLAS_COMPUTE_16F},  \
        1);                                                                                      \
  }
FAKE_HGEMM(cublasHgemm, int)
FAKE_HGEMM(cublasHgemm_64, int64_t)

#define FAKE_STRIDED_EX(name, Int)                                                                 \
  EXPORT cublasStatus_t name(                                                                      \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const void* alpha, const void* a, cudaDataType type, Int lda, long long int, const void* b,  \
      cudaDataType, Int ldb, long long int, const void* beta, void* c, cudaDataType out, Int ldc,  \
      long long int, Int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {                   \
    return run(handle, {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, type, compute, out}, \
               static_cast<int>(batch));                                                           \
  }
FAKE_STRIDED_EX(cublasGemmStridedBatchedEx, int)
FAKE_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)

#define FAKE_HGEMM_STRIDED(name, Int)                                                            \
  EXPORT cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,  \
                             Int m, Int n, Int k, const __half* alpha, const __half* a, Int lda, \
                             long long int, const __half* b, Int ldb, long long int,             \
                             const __half* beta, __half* c, Int ldc, long long int, Int batch) { \
    return run(                                                                                  \
        handle,                                                                                  \
        {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, CUDA_R_16F, CUBLAS_COMPUTE_16F},  \
        static_cast<int>(batch));                                                                \
  }
FAKE_HGEMM_STRIDED(cublasHgemmStridedBatched, int)
FAKE_HGEMM_STRIDED(cublasHgemmStridedBatched_64, int64_t)

#define FAKE_BATCHED_EX(name, Int)                                                                \
  EXPORT cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,   \
                             Int m, Int n, Int k, const void* alpha, const void* const*,          \
                             cudaDataType type, Int lda, const void* const*, cudaDataType,        \
                             Int ldb, const void* beta, void* const*, cudaDataType, Int ldc, Int, \
                             cublasComputeType_t compute, cublasGemmAlgo_t) {                     \
    return run(                                                                                   \
        handle,                                                                                   \
        {ta, tb, m, n, k, alpha, nullptr, lda, nullptr, ldb, beta, nullptr, ldc, type, compute},  \
        -1);                                                                                      \
  }
FAKE_BATCHED_EX(cublasGemmBatchedEx, int)
FAKE_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)

#define FAKE_HGEMM_BATCHED(name, Int)                                                           \
  EXPORT cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, \
                             Int m, Int n, Int k, const __half* alpha, const __half* const*,    \
                             Int lda, const __half* const*, Int ldb, const __half* beta,        \
                             __half* const*, Int ldc, Int) {                                    \
    return run(handle,                                                                          \
               {ta, tb, m, n, k, alpha, nullptr, lda, nullptr, ldb, beta, nullptr, ldc,         \
                CUDA_R_16F, CUBLAS_COMPUTE_16F},                                                \
               -1);                                                                             \
  }
FAKE_HGEMM_BATCHED(cublasHgemmBatched, int)
FAKE_HGEMM_BATCHED(cublasHgemmBatched_64, int64_t)
