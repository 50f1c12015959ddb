// cublas_gemm.h -- cublasGemmEx, of a batch cublasGemmStridedBatchedEx: the baselines `cublas` and
// `cublas_autotune`.
#pragma once

#include <memory>

#include "vendor/blas_library.h"
#include "vendor/blas_types.h"

namespace gemmsmith::vendor {

// A cuBLAS handle of the current device. One thread at a time.
class CublasHandle {
 public:
  // Opens libcublas as BlasLibrary::open opens cuBLASLt (GEMMSMITH_CUBLAS names a file), after it,
  // so that both come from one installation. Errors: kEnvironment (not found, or the two libraries'
  // versions differ), kDevice.
  static Result<std::shared_ptr<CublasHandle>> create(std::shared_ptr<const BlasLibrary> library);
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  cublasHandle_t get() const { return handle_; }
  const CublasFunctions& functions() const { return functions_; }
  // CUBLAS_GEMM_AUTOTUNE came with cuBLAS 13.0.
  bool knows_autotune() const { return version_ >= 130000; }

 private:
  explicit CublasHandle(std::shared_ptr<const BlasLibrary> lt, DynamicLibrary library)
      : lt_(std::move(lt)), library_(std::move(library)) {}
  std::shared_ptr<const BlasLibrary> lt_;
  DynamicLibrary library_;
  CublasFunctions functions_;
  std::size_t version_ = 0;
  cublasHandle_t handle_ = nullptr;
};

enum class CublasAlgo { kDefault, kAutotune };

class CublasGemm {
 public:
  // kUnsupported: autotune on a library before 13.0; C apart from D (ldc != ldd, or their strides)
  // with beta not 0, since cublasGemmEx adds in place.
  static Result<CublasGemm> create(std::shared_ptr<CublasHandle> handle, const Problem& problem,
                                   CublasAlgo algo);

  // Autotune's trial: one call outside any capture, after which run() replays its choice. It
  // allocates, synchronises and overwrites D. For the default algorithm: just one call.
  Result<void> prime(const Operands& operands, const Workspace& workspace, CUstream stream);

  // Enqueues one product, or one batch; legal under capture (autotune: once primed). Where beta is
  // not 0, operands.c must be operands.d.
  Result<void> run(const Operands& operands, const Workspace& workspace, CUstream stream);

 private:
  CublasGemm(std::shared_ptr<CublasHandle> handle, const Problem& problem, CublasAlgo algo)
      : handle_(std::move(handle)), problem_(problem), algo_(algo) {}
  Result<void> enqueue(const Operands& operands, const Workspace& workspace, CUstream stream);

  std::shared_ptr<CublasHandle> handle_;
  Problem problem_;
  CublasAlgo algo_;
  bool primed_ = false;
};

}  // namespace gemmsmith::vendor
