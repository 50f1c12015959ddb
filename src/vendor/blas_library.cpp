#include "vendor/blas_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "vendor/library_names.h"

namespace gemmsmith::vendor {

std::vector<std::string> library_names(const char* environment, std::string_view stem) {
  if (const char* named = std::getenv(environment); named != nullptr && *named != '\0')
    return {named};
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    folders.push_back(std::string(home) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  std::vector<std::string> names;
  // The pair of cuBLAS and cuBLASLt that the process already works with comes first: another
  // version beside it would disagree with it, and cost its memory twice.
  for (const char* version : {"13", "12"}) {
    std::string name = fmt::format("{}.so.{}", stem, version);
    if (void* loaded = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr) {
      dlclose(loaded);
      names.push_back(std::move(name));
    }
  }
  for (const std::string& folder : folders)
    for (const char* version : {"13", "12"})
      names.push_back(fmt::format("{}{}.so.{}", folder, stem, version));
  return names;
}

std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string describe(cublasStatus_t status) {
  const char* name = "unknown status";
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      name = "CUBLAS_STATUS_SUCCESS";
      break;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      name = "CUBLAS_STATUS_NOT_INITIALIZED";
      break;
    case CUBLAS_STATUS_ALLOC_FAILED:
      name = "CUBLAS_STATUS_ALLOC_FAILED";
      break;
    case CUBLAS_STATUS_INVALID_VALUE:
      name = "CUBLAS_STATUS_INVALID_VALUE";
      break;
    case CUBLAS_STATUS_ARCH_MISMATCH:
      name = "CUBLAS_STATUS_ARCH_MISMATCH";
      break;
    case CUBLAS_STATUS_MAPPING_ERROR:
      name = "CUBLAS_STATUS_MAPPING_ERROR";
      break;
    case CUBLAS_STATUS_EXECUTION_FAILED:
      name = "CUBLAS_STATUS_EXECUTION_FAILED";
      break;
    case CUBLAS_STATUS_INTERNAL_ERROR:
      name = "CUBLAS_STATUS_INTERNAL_ERROR";
      break;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      name = "CUBLAS_STATUS_NOT_SUPPORTED";
      break;
    case CUBLAS_STATUS_LICENSE_ERROR:
      name = "CUBLAS_STATUS_LICENSE_ERROR";
      break;
  }
  return fmt::format("{} ({})", name, static_cast<int>(status));
}

Result<void> check(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode code =
      status == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::kUnsupported : ErrorCode::kDevice;
  return fail(code, "{} failed: {}", doing, describe(status));
}

Result<std::shared_ptr<const BlasLibrary>> BlasLibrary::open() {
  GEMMSMITH_TRY(auto file, DynamicLibrary::open(
                               library_names("GEMMSMITH_CUBLASLT", "libcublasLt"), "cuBLASLt",
                               "install cuBLAS 12 or 13, or name the file in GEMMSMITH_CUBLASLT"));
  file.keep_loaded();
  std::shared_ptr<BlasLibrary> library(new BlasLibrary(std::move(file)));
#define GEMMSMITH_LT_LOAD(function) \
  GEMMSMITH_CHECK(library->lt_library_.load("cublasLt" #function, library->lt_.function));
  GEMMSMITH_LT_FUNCTIONS(GEMMSMITH_LT_LOAD)
#undef GEMMSMITH_LT_LOAD
  return library;
}

Result<std::shared_ptr<const LtHandle>> LtHandle::create(
    std::shared_ptr<const BlasLibrary> library) {
  cublasLtHandle_t handle = nullptr;
  if (const cublasStatus_t status = library->lt().Create(&handle); status != CUBLAS_STATUS_SUCCESS)
    return fail(
        ErrorCode::kEnvironment,
        "cannot start cuBLASLt {} ({}): {}; it needs a current CUDA context and a driver as "
        "new as itself",
        library->version(), library->path(), describe(status));
  return std::shared_ptr<const LtHandle>(new LtHandle(std::move(library), handle));
}

LtHandle::~LtHandle() { library_->lt().Destroy(handle_); }

}  // namespace gemmsmith::vendor
