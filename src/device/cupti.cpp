#include "device/cupti.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/dynamic_library.h"

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kAdvice =
    "install the CUDA toolkit 12.6 or newer or the PyPI package nvidia-cuda-cupti, or set "
    "GEMMSMITH_CUPTI to the library's path";

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> result;
  const auto add_toolkit = [&](const fs::path& toolkit) {
    result.push_back(toolkit / "lib64");
    result.push_back(toolkit / "extras/CUPTI/lib64");
  };
  if (const char* nvrtc = variable("GEMMSMITH_NVRTC"))
    result.push_back(fs::path(nvrtc).parent_path());
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = variable(name)) add_toolkit(value);
  add_toolkit("/usr/local/cuda");
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  if (!ignored) result.push_back(program.parent_path());
#ifdef GEMMSMITH_CUDA_LIBRARY_FOLDER
  result.emplace_back(GEMMSMITH_CUDA_LIBRARY_FOLDER);
#endif
  return result;
}

// Empty where the failure is not the machine's refusal.
const char* refusal(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver shows hardware counters to administrators only: run as root (in a "
             "container with CAP_SYS_ADMIN or CAP_PERFMON), or have the driver loaded with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "this virtual GPU shows no hardware counters: its host must allow them, or use a "
             "whole "
             "GPU";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "confidential computing hides hardware counters: turn it off or use another GPU";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "this kind of device shows no hardware counters: use another GPU";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler holds the hardware counters: end it (ncu, nsys, DCGM's profiling, "
             "cuda-gdb) and try again";
    default:
      return "";
  }
}

}  // namespace

std::vector<std::string> cupti_names() {
  if (const char* path = variable("GEMMSMITH_CUPTI")) return {path};
  std::vector<std::string> names;
  for (const fs::path& folder : folders())
    for (const char* soname : kSonames) names.push_back((folder / soname).string());
  names.insert(names.end(), std::begin(kSonames), std::end(kSonames));
  return names;
}

Result<std::shared_ptr<const Cupti>> load_cupti() {
  GEMMSMITH_TRY(DynamicLibrary library, DynamicLibrary::open(cupti_names(), "CUPTI", kAdvice));
  library.keep_loaded();
  auto cupti = std::make_shared<Cupti>();
  cupti->path = library.path();
#define GEMMSMITH_CUPTI_LOAD(function) \
  GEMMSMITH_CHECK(library.load("cupti" #function, cupti->function));
  GEMMSMITH_CUPTI_FUNCTIONS(GEMMSMITH_CUPTI_LOAD)
#undef GEMMSMITH_CUPTI_LOAD
  return cupti;
}

std::string cupti_name(const Cupti& cupti, CUptiResult result) {
  const char* text = nullptr;
  if (cupti.GetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return fmt::format("CUPTI error {}", static_cast<int>(result));
  return text;
}

Result<void> check(const Cupti& cupti, CUptiResult result, const char* doing) {
  if (result == CUPTI_SUCCESS) return {};
  const std::string name = cupti_name(cupti, result);
  if (const char* why = refusal(result); *why != '\0')
    return fail(ErrorCode::kEnvironment, "cannot read hardware counters ({}, {}): {}", doing, name,
                why);
  return fail(ErrorCode::kDevice, "{} failed: {} ({})", doing, name, cupti.path);
}

}  // namespace gemmsmith
