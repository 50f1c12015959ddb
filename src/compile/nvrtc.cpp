// nvrtc.cpp -- where NVRTC is looked for, and the calls that turn one program into a cubin.
#include "compile/nvrtc.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace gemmsmith::compile {
namespace {

constexpr std::array<const char*, 2> kSonames = {"libnvrtc.so.13", "libnvrtc.so.12"};
// 12.3 is the first whose ptxas takes every instruction the kernels use.
constexpr int kLeastMajor = 12;
constexpr int kLeastMinor = 3;
constexpr const char* kAdvice =
    "install the CUDA toolkit or the PyPI package nvidia-cuda-nvrtc, or set GEMMSMITH_NVRTC to the "
    "library's path";

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> result;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = variable(name))
      result.push_back(std::filesystem::path(value) / "lib64");
  result.emplace_back("/usr/local/cuda/lib64");
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!ignored) result.push_back(program.parent_path());
#ifdef GEMMSMITH_NVRTC_FOLDER
  result.emplace_back(GEMMSMITH_NVRTC_FOLDER);
#endif
  return result;
}

}  // namespace

std::vector<std::string> nvrtc_names() {
  std::vector<std::string> names(kSonames.begin(), kSonames.end());
  for (const std::filesystem::path& folder : folders())
    for (const char* soname : kSonames) names.push_back((folder / soname).string());
  return names;
}

Result<Nvrtc> Nvrtc::open() {
  std::vector<std::string> names;
  if (const char* path = variable("GEMMSMITH_NVRTC"))
    names.emplace_back(path);
  else
    names = nvrtc_names();
  GEMMSMITH_TRY(DynamicLibrary library, DynamicLibrary::open(names, "NVRTC", kAdvice));
  library.keep_loaded();
  Nvrtc nvrtc(std::move(library));
  GEMMSMITH_CHECK(nvrtc.load());
  return nvrtc;
}

Result<void> Nvrtc::load() {
  GEMMSMITH_CHECK(library_.load("nvrtcVersion", version_function_));
  GEMMSMITH_CHECK(library_.load("nvrtcGetErrorString", error_string_));
  GEMMSMITH_CHECK(library_.load("nvrtcCreateProgram", create_));
  GEMMSMITH_CHECK(library_.load("nvrtcDestroyProgram", destroy_));
  GEMMSMITH_CHECK(library_.load("nvrtcCompileProgram", compile_));
  GEMMSMITH_CHECK(library_.load("nvrtcGetProgramLogSize", log_size_));
  GEMMSMITH_CHECK(library_.load("nvrtcGetProgramLog", log_));
  GEMMSMITH_CHECK(library_.load("nvrtcGetCUBINSize", cubin_size_));
  GEMMSMITH_CHECK(library_.load("nvrtcGetCUBIN", cubin_));
  int major = 0;
  int minor = 0;
  if (version_function_(&major, &minor) != NVRTC_SUCCESS)
    return fail(ErrorCode::kEnvironment, "NVRTC at {} does not tell its version; {}", path(),
                kAdvice);
  if (std::pair(major, minor) < std::pair(kLeastMajor, kLeastMinor))
    return fail(ErrorCode::kEnvironment,
                "NVRTC {}.{} at {} is too old: expected {}.{} or newer; {}", major, minor, path(),
                kLeastMajor, kLeastMinor, kAdvice);
  version_ = fmt::format("nvrtc {}.{}", major, minor);
  return {};
}

Result<Nvrtc::Output> Nvrtc::compile(const KernelSource& source) const {
  std::vector<const char*> header_names;
  std::vector<const char*> header_texts;
  for (const auto& [name, text] : source.headers) {
    header_names.push_back(name.c_str());
    header_texts.push_back(text.c_str());
  }
  std::vector<const char*> options;
  for (const std::string& option : source.options) options.push_back(option.c_str());

  const auto unusable = [&](nvrtcResult result, std::string_view log) {
    return fail(ErrorCode::kEnvironment, "{} at {} cannot compile {}: {} {}; {}", version_, path(),
                source.name, error_string_(result), log, kAdvice);
  };

  nvrtcProgram program = nullptr;
  if (const nvrtcResult made = create_(&program, source.text.c_str(), source.file.c_str(),
                                       static_cast<int>(source.headers.size()), header_texts.data(),
                                       header_names.data());
      made != NVRTC_SUCCESS)
    return unusable(made, "");
  const auto destroy = [this](nvrtcProgram* p) { destroy_(p); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> owner(&program, destroy);

  Output output;
  output.result = compile_(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  if (log_size_(program, &size) == NVRTC_SUCCESS && size > 1) {
    output.log.resize(size);
    log_(program, output.log.data());
    output.log.resize(size - 1);  // without the terminating null
  }
  switch (output.result) {
    case NVRTC_SUCCESS:
      break;
    case NVRTC_ERROR_OUT_OF_MEMORY:
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
      return unusable(output.result, output.log);
    default:
      if (output.log.empty()) output.log = error_string_(output.result);
      return output;
  }
  if (const nvrtcResult got = cubin_size_(program, &size); got != NVRTC_SUCCESS)
    return unusable(got, output.log);
  if (size == 0) {
    // Loading it would fail as an invalid image, far from here.
    output.result = NVRTC_ERROR_INTERNAL_ERROR;
    output.log += fmt::format("{}NVRTC reported success and gave no code for {}",
                              output.log.empty() ? "" : "\n", source.architecture);
    return output;
  }
  output.cubin.resize(size);
  if (const nvrtcResult got = cubin_(program, output.cubin.data()); got != NVRTC_SUCCESS)
    return unusable(got, output.log);
  return output;
}

}  // namespace gemmsmith::compile
