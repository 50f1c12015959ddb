// fake_cusolver.cpp -- one of NVIDIA's own libraries as seen by the preloaded one: by its name, and
// by calling cuBLAS in private.
#include <cublas_api.h>

extern "C" __attribute__((visibility("default"))) cublasStatus_t fake_cusolver_multiply(
    cublasHandle_t handle, int size, const float* alpha, const void* a, const void* b,
    const float* beta, void* c) {
  return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, size, size, size, alpha, a, CUDA_R_16F,
                      size, b, CUDA_R_16F, size, beta, c, CUDA_R_16F, size, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
}
