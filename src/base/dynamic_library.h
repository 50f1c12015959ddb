// dynamic_library.h -- a shared library found at run time. The driver, NVRTC, cuBLAS and NVML are
// opened this way, so one binary runs on a machine that has none of them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace gemmsmith {

class DynamicLibrary {
 public:
  // Opens the first of `names` that loads (sonames or paths, tried in order). The error
  // (kEnvironment) lists every name that was tried and ends with `advice`.
  static Result<DynamicLibrary> open(std::span<const std::string> names, const std::string& what,
                                     const std::string& advice);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  // Null where the library lacks the symbol.
  void* find(const char* symbol) const;

  // Fills `function`; an error (kEnvironment) names the symbol, the library and `advice`.
  template <class Function>
  Result<void> load(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(find(symbol));
    if (function == nullptr)
      return fail(ErrorCode::kEnvironment, "{} has no {}: it is too old; {}", path_, symbol,
                  advice_);
    return {};
  }

  // The name that was opened.
  const std::string& path() const { return path_; }

  // Leaves the library mapped for the life of the process: the CUDA libraries run exit handlers
  // that must not outlive their code.
  void keep_loaded() { keep_ = true; }

 private:
  DynamicLibrary(void* handle, std::string path, std::string advice);
  void* handle_ = nullptr;
  std::string path_;
  std::string advice_;
  bool keep_ = false;
};

}  // namespace gemmsmith
