#include "device/driver.h"

#include <cstdlib>
#include <string>

#include "base/dynamic_library.h"

namespace gemmsmith {
namespace {

// TensorMapEncodeTiled and LaunchKernelEx came with 12.0, the NVRTC and PTX versions that the
// kernels are written for with 12.3, whose first driver is 545.23.
constexpr int kOldestCuda = 12030;
constexpr const char* kAdvice =
    "install an NVIDIA driver for CUDA 12.3 or newer (545.23 or newer), or use --device "
    "recorded:FILE, which needs no GPU";

Result<void> require_version(const Driver& driver, const std::string& path) {
  int version = 0;
  if (driver.DriverGetVersion(&version) != CUDA_SUCCESS) version = 0;
  if (version >= kOldestCuda) return {};
  return fail(ErrorCode::kEnvironment,
              "the NVIDIA driver ({}) supports CUDA {}.{}, gemmsmith needs 12.3 or newer: update "
              "the driver to 545.23 or newer",
              path, version / 1000, version % 1000 / 10);
}

Result<void> initialise(const Driver& driver, const std::string& path) {
  const CUresult result = driver.Init(0);
  int devices = 0;
  if (result == CUDA_SUCCESS && driver.DeviceGetCount(&devices) == CUDA_SUCCESS && devices > 0)
    return {};
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NO_DEVICE)
    return fail(ErrorCode::kEnvironment,
                "no GPU: the NVIDIA driver ({}) is here but shows no device; check nvidia-smi and "
                "CUDA_VISIBLE_DEVICES, or use --device recorded:FILE, which needs no GPU",
                path);
  return fail(ErrorCode::kEnvironment,
              "cannot start the NVIDIA driver ({}): {}; check that nvidia-smi works", path,
              describe(driver, result));
}

}  // namespace

std::string driver_library_name() {
  const char* chosen = std::getenv("GEMMSMITH_LIBCUDA");
  return chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
}

Result<Driver> open_driver(const std::string& path) {
  const std::string names[] = {path};
  GEMMSMITH_TRY(DynamicLibrary library, DynamicLibrary::open(names, "the NVIDIA driver", kAdvice));
  library.keep_loaded();
  Driver driver;
  // The version first: "too old" says more than the first symbol that is missing for it.
  GEMMSMITH_CHECK(library.load("cuDriverGetVersion", driver.DriverGetVersion));
  GEMMSMITH_CHECK(require_version(driver, path));
#define GEMMSMITH_DRIVER_LOAD(function) \
  GEMMSMITH_CHECK(library.load("cu" #function, driver.function));
  GEMMSMITH_DRIVER_FUNCTIONS(GEMMSMITH_DRIVER_LOAD)
#undef GEMMSMITH_DRIVER_LOAD
  GEMMSMITH_CHECK(initialise(driver, path));
  return driver;
}

Result<const Driver*> load_driver() {
  static const Result<Driver> driver = open_driver(driver_library_name());
  if (!driver) return tl::unexpected<Error>(driver.error());
  return &*driver;
}

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.GetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr)
    return fmt::format("CUDA error {}", static_cast<int>(result));
  if (driver.GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return fmt::format("{}: {}", name, text);
}

Result<void> check(const Driver& driver, CUresult result, const char* doing) {
  if (result == CUDA_SUCCESS) return {};
  return fail(ErrorCode::kDevice, "{} failed: {}", doing, describe(driver, result));
}

}  // namespace gemmsmith
