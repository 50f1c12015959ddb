// real_blas.h -- NVIDIA's own functions behind the hooks. The library that the program loaded is
// found by its soname, without loading another one: a framework's private copy, opened RTLD_LOCAL
// from a folder of its own, is invisible to dlsym(RTLD_NEXT), and dlopen with RTLD_NOLOAD finds it.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>

namespace gemmsmith::blas {

// The functions that are hooked, but three, then those that tell what a handle or a descriptor
// says. Each is named as in the headers without the "cublas" prefix.
#define GEMMSMITH_REAL_BLAS_FUNCTIONS(X) \
  X(GemmEx_64)                           \
  X(Hgemm)                               \
  X(Hgemm_64)                            \
  X(GemmStridedBatchedEx_64)             \
  X(HgemmStridedBatched)                 \
  X(HgemmStridedBatched_64)              \
  X(GemmBatchedEx_64)                    \
  X(HgemmBatched)                        \
  X(HgemmBatched_64)                     \
  X(LtMatmul)                            \
  X(SetWorkspace_v2)                     \
  X(SetStream_v2)                        \
  X(Destroy_v2)                          \
  X(GetStream_v2)                        \
  X(GetPointerMode_v2)                   \
  X(GetMathMode)                         \
  X(GetSmCountTarget)                    \
  X(LtMatmulDescGetAttribute)            \
  X(LtMatrixLayoutGetAttribute)          \
  X(LtGetVersion)

// Three names that the header overloads in C++, with an old type for the compute type.
using GemmExFunction = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                      int, int, const void*, const void*, cudaDataType, int,
                                      const void*, cudaDataType, int, const void*, void*,
                                      cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedBatchedExFunction = cublasStatus_t(
    cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
    cudaDataType, int, long long int, const void*, cudaDataType, int, long long int, const void*,
    void*, cudaDataType, int, long long int, int, cublasComputeType_t, cublasGemmAlgo_t);
using GemmBatchedExFunction = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                             int, int, int, const void*, const void* const*,
                                             cudaDataType, int, const void* const*, cudaDataType,
                                             int, const void*, void* const*, cudaDataType, int, int,
                                             cublasComputeType_t, cublasGemmAlgo_t);

// A function that the library does not have is null.
struct RealBlas {
  GemmExFunction* GemmEx = nullptr;
  GemmStridedBatchedExFunction* GemmStridedBatchedEx = nullptr;
  GemmBatchedExFunction* GemmBatchedEx = nullptr;
#define GEMMSMITH_REAL_BLAS_MEMBER(function) decltype(::cublas##function)* function = nullptr;
  GEMMSMITH_REAL_BLAS_FUNCTIONS(GEMMSMITH_REAL_BLAS_MEMBER)
#undef GEMMSMITH_REAL_BLAS_MEMBER
};

// Where a hooked call came from.
struct Caller {
  // One of NVIDIA's own libraries: what it does in private is none of ours.
  bool is_private = false;
  // What the call would have reached without the hooks. With one cuBLAS in the process that is the
  // same for everybody; with several, each caller keeps the one that it was linked to.
  RealBlas real;
};

// For a function's return address. A repeated question costs a look into the thread's memory.
const Caller& caller_at(const void* return_address);

// The same, looked for anew: for a function that was null since its library was loaded later.
const Caller& caller_at_again(const void* return_address);

// Whether the file's name is that of a library whose calls are left alone.
bool is_private_library(const char* path);

}  // namespace gemmsmith::blas
