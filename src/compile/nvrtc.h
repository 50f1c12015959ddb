// nvrtc.h -- the functions of NVRTC that are used, found at run time, and one program compiled.
#pragma once

#include <nvrtc.h>

#include <string>
#include <vector>

#include "base/dynamic_library.h"
#include "base/result.h"
#include "compile/kernel_source.h"

namespace gemmsmith::compile {

class Nvrtc {
 public:
  // The library of GEMMSMITH_NVRTC if that is set, else the first found of nvrtc_names().
  static Result<Nvrtc> open();

  const std::string& version() const { return version_; }  // "nvrtc 13.0"
  const std::string& path() const { return library_.path(); }

  struct Output {
    nvrtcResult result = NVRTC_ERROR_INTERNAL_ERROR;
    std::string cubin;  // empty unless result is NVRTC_SUCCESS
    std::string log;
  };

  // An error (kEnvironment) where NVRTC cannot work at all: out of memory, its companion library
  // missing. A text that does not compile is a result.
  Result<Output> compile(const KernelSource& source) const;

 private:
  explicit Nvrtc(DynamicLibrary library) : library_(std::move(library)) {}
  Result<void> load();

  DynamicLibrary library_;
  std::string version_;
  decltype(nvrtcVersion)* version_function_ = nullptr;
  decltype(nvrtcGetErrorString)* error_string_ = nullptr;
  decltype(nvrtcCreateProgram)* create_ = nullptr;
  decltype(nvrtcDestroyProgram)* destroy_ = nullptr;
  decltype(nvrtcCompileProgram)* compile_ = nullptr;
  decltype(nvrtcGetProgramLogSize)* log_size_ = nullptr;
  decltype(nvrtcGetProgramLog)* log_ = nullptr;
  decltype(nvrtcGetCUBINSize)* cubin_size_ = nullptr;
  decltype(nvrtcGetCUBIN)* cubin_ = nullptr;
};

// Names and paths that are tried, in order, where GEMMSMITH_NVRTC is not set.
std::vector<std::string> nvrtc_names();

}  // namespace gemmsmith::compile
