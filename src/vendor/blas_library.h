// blas_library.h -- cuBLAS and cuBLASLt found at run time: function tables, version and handles.
// NVIDIA's headers give the types; nothing links against the libraries, so one binary runs where
// they are missing and says what it looked for.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/dynamic_library.h"
#include "base/result.h"

namespace gemmsmith::vendor {

// Each named as in cublasLt.h without the "cublasLt" prefix.
#define GEMMSMITH_LT_FUNCTIONS(X) \
  X(GetVersion)                   \
  X(Create)                       \
  X(Destroy)                      \
  X(Matmul)                       \
  X(MatmulDescCreate)             \
  X(MatmulDescDestroy)            \
  X(MatmulDescSetAttribute)       \
  X(MatrixLayoutCreate)           \
  X(MatrixLayoutSetAttribute)     \
  X(MatrixLayoutDestroy)          \
  X(MatmulPreferenceCreate)       \
  X(MatmulPreferenceDestroy)      \
  X(MatmulPreferenceSetAttribute) \
  X(MatmulAlgoGetHeuristic)       \
  X(MatmulAlgoGetIds)             \
  X(MatmulAlgoInit)               \
  X(MatmulAlgoCheck)              \
  X(MatmulAlgoCapGetAttribute)    \
  X(MatmulAlgoConfigSetAttribute) \
  X(MatmulAlgoConfigGetAttribute)

// Each named as in cublas_api.h without the "cublas" prefix.
#define GEMMSMITH_CUBLAS_FUNCTIONS(X)                                          \
  X(Create_v2)                                                                 \
  X(Destroy_v2) X(GetProperty) X(SetStream_v2) X(SetWorkspace_v2) X(GemmEx_64) \
      X(GemmStridedBatchedEx_64)

struct LtFunctions {
#define GEMMSMITH_LT_MEMBER(function) decltype(::cublasLt##function)* function = nullptr;
  GEMMSMITH_LT_FUNCTIONS(GEMMSMITH_LT_MEMBER)
#undef GEMMSMITH_LT_MEMBER
};

struct CublasFunctions {
#define GEMMSMITH_CUBLAS_MEMBER(function) decltype(::cublas##function)* function = nullptr;
  GEMMSMITH_CUBLAS_FUNCTIONS(GEMMSMITH_CUBLAS_MEMBER)
#undef GEMMSMITH_CUBLAS_MEMBER
};

// "13.1.0" from 130100, the number cublasLtGetVersion returns.
std::string version_text(std::size_t version);

// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
std::string describe(cublasStatus_t status);

// kDevice with `doing` and the status's name; an unsupported request is kUnsupported.
Result<void> check(cublasStatus_t status, const char* doing);

class BlasLibrary {
 public:
  // Opens cuBLASLt: the file named by GEMMSMITH_CUBLASLT, else libcublasLt.so.13, then .12, from
  // the loader's path, then from $CUDA_HOME/lib64 and /usr/local/cuda/lib64. Error (kEnvironment):
  // every name tried. Needs no GPU. Cheap to repeat: the loader counts references.
  static Result<std::shared_ptr<const BlasLibrary>> open();

  const LtFunctions& lt() const { return lt_; }
  std::size_t version_number() const { return lt_.GetVersion(); }
  std::string version() const { return version_text(version_number()); }  // "13.1.0"
  const std::string& path() const { return lt_library_.path(); }

 private:
  explicit BlasLibrary(DynamicLibrary lt) : lt_library_(std::move(lt)) {}
  DynamicLibrary lt_library_;
  LtFunctions lt_;
};

// A cuBLASLt handle of the device whose context is current. Usable from any number of threads.
class LtHandle {
 public:
  // Needs a current context. Errors: kEnvironment (no device or too old a driver).
  static Result<std::shared_ptr<const LtHandle>> create(std::shared_ptr<const BlasLibrary> library);
  ~LtHandle();
  LtHandle(const LtHandle&) = delete;
  LtHandle& operator=(const LtHandle&) = delete;

  cublasLtHandle_t get() const { return handle_; }
  const BlasLibrary& library() const { return *library_; }
  const LtFunctions& lt() const { return library_->lt(); }

 private:
  LtHandle(std::shared_ptr<const BlasLibrary> library, cublasLtHandle_t handle)
      : library_(std::move(library)), handle_(handle) {}
  std::shared_ptr<const BlasLibrary> library_;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace gemmsmith::vendor
