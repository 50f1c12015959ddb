#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <utility>

namespace gemmsmith {

Result<DynamicLibrary> DynamicLibrary::open(std::span<const std::string> names,
                                            const std::string& what, const std::string& advice) {
  for (const std::string& name : names) {
    // RTLD_LOCAL: another CUDA version may already be loaded for the application.
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr)
      return DynamicLibrary(handle, name, advice);
  }
  return fail(ErrorCode::kEnvironment, "cannot load {}: looked for {}; {}", what,
              fmt::join(names, ", "), advice);
}

DynamicLibrary::DynamicLibrary(void* handle, std::string path, std::string advice)
    : handle_(handle), path_(std::move(path)), advice_(std::move(advice)) {}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)),
      advice_(std::move(other.advice_)),
      keep_(other.keep_) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  std::swap(advice_, other.advice_);
  std::swap(keep_, other.keep_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr && !keep_) dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace gemmsmith
