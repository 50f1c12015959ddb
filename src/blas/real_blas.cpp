#include "blas/real_blas.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gemmsmith::blas {
namespace {

constexpr const char* kVersions[] = {"13", "12", "11"};

// dlsym(RTLD_NEXT) serves programs that have the libraries under other names.
void* find(void* first, void* second, const char* name) {
  for (void* library : {first, second}) {
    if (library == nullptr) continue;
    if (void* symbol = dlsym(library, name); symbol != nullptr) return symbol;
  }
  return dlsym(RTLD_NEXT, name);
}

RealBlas functions_of(void* first, void* second) {
  RealBlas functions;
#define GEMMSMITH_REAL_BLAS_FIND(function) \
  functions.function =                     \
      reinterpret_cast<decltype(functions.function)>(find(first, second, "cublas" #function));
  GEMMSMITH_REAL_BLAS_FUNCTIONS(GEMMSMITH_REAL_BLAS_FIND)
  GEMMSMITH_REAL_BLAS_FIND(GemmEx)
  GEMMSMITH_REAL_BLAS_FIND(GemmStridedBatchedEx)
  GEMMSMITH_REAL_BLAS_FIND(GemmBatchedEx)
#undef GEMMSMITH_REAL_BLAS_FIND
  return functions;
}

// The reference that dlopen takes is kept: the library must not go while it may be called.
void* loaded(const char* stem, const char* version) {
  const std::string name = std::string(stem) + ".so." + version;
  return dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

RealBlas functions_for(const link_map* object) {
  void* cublas = nullptr;
  void* lt = nullptr;
  int versions = 0;
  for (const char* version : kVersions) {
    void* const this_cublas = loaded("libcublas", version);
    void* const this_lt = loaded("libcublasLt", version);
    if (this_cublas == nullptr && this_lt == nullptr) continue;
    if (versions++ != 0) continue;
    cublas = this_cublas;
    lt = this_lt;
  }
  if (versions > 1 && object != nullptr) {
    // The object's own dependencies, in which a preloaded library has no part.
    const bool is_program = object->l_name[0] == '\0';
    void* const own = is_program ? nullptr : dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return functions_of(own, nullptr);
  }
  return functions_of(cublas, lt);
}

struct KnownObject {
  const link_map* object = nullptr;
  Caller caller;
  const KnownObject* next = nullptr;
};

// Grows only: one entry an object that calls cuBLAS, a few more where they were looked for again.
std::atomic<const KnownObject*> known_objects{nullptr};

const link_map* object_at(const void* address, const char*& path) {
  Dl_info info = {};
  link_map* object = nullptr;
  path = "";
  if (dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0)
    return nullptr;
  if (info.dli_fname != nullptr) path = info.dli_fname;
  return object;
}

const Caller& look_up(const void* return_address, bool again) {
  const char* path = "";
  const link_map* const object = object_at(return_address, path);
  if (!again)
    for (const KnownObject* entry = known_objects.load(std::memory_order_acquire); entry != nullptr;
         entry = entry->next)
      if (entry->object == object) return entry->caller;
  auto* made = new KnownObject{object, {is_private_library(path), functions_for(object)}, nullptr};
  made->next = known_objects.load();
  while (!known_objects.compare_exchange_weak(made->next, made)) {
  }
  return made->caller;
}

struct CallSite {
  const void* address = nullptr;
  const Caller* caller = nullptr;
};

CallSite& call_site(const void* return_address) {
  thread_local std::array<CallSite, 64> sites;
  const auto bits = reinterpret_cast<std::uintptr_t>(return_address);
  return sites[(bits ^ (bits >> 6) ^ (bits >> 12)) % sites.size()];
}

}  // namespace

bool is_private_library(const char* path) {
  std::string_view name = path;
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  for (const std::string_view own : {"libcublas", "libcusolver", "libcudnn", "libcusparse",
                                     "libcutensor", "libcufft", "libnvblas"})
    if (name.substr(0, own.size()) == own) return true;
  return false;
}

const Caller& caller_at(const void* return_address) {
  CallSite& site = call_site(return_address);
  if (site.address != return_address) {
    site.caller = &look_up(return_address, false);
    site.address = return_address;
  }
  return *site.caller;
}

const Caller& caller_at_again(const void* return_address) {
  CallSite& site = call_site(return_address);
  site.caller = &look_up(return_address, true);
  site.address = return_address;
  return *site.caller;
}

}  // namespace gemmsmith::blas
