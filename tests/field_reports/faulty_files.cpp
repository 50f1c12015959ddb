// faulty_files.cpp -- a library for LD_PRELOAD that makes file calls fail, as network file systems
// and full disks do. Environment:
//   FAULT_CALL=open      open, rename, unlink, fsync (with fdatasync) or write (with pwrite)
//   FAULT_ERRNO=28
//   FAULT_PATH=TEXT      only paths that contain the text
//   FAULT_FROM=3         from the third such call on, from 1
//   FAULT_TIMES=1        how many fail; without it all that follow
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool fails(const char* call, const char* path) {
  static const char* const planned = std::getenv("FAULT_CALL");
  static const char* const part = std::getenv("FAULT_PATH");
  static const char* const from = std::getenv("FAULT_FROM");
  static const char* const times = std::getenv("FAULT_TIMES");
  static const char* const reason = std::getenv("FAULT_ERRNO");
  static std::atomic<long> seen{0};
  if (planned == nullptr || part == nullptr || reason == nullptr ||
      std::strcmp(planned, call) != 0 || std::strstr(path, part) == nullptr)
    return false;
  const long first = from == nullptr ? 1 : std::atol(from);
  const long count = times == nullptr ? LONG_MAX / 2 : std::atol(times);
  const long number = seen.fetch_add(1) + 1;
  if (number < first || number >= first + count) return false;
  errno = std::atoi(reason);
  return true;
}

bool fails(const char* call, int file) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return fails(call, path);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

#define FAULTY_OPEN(name)                                              \
  VISIBLE int name(const char* path, int flags, ...) {                 \
    std::va_list arguments;                                            \
    va_start(arguments, flags);                                        \
    const mode_t mode = mode_of(flags, arguments);                     \
    va_end(arguments);                                                 \
    if (fails("open", path)) return -1;                                \
    return real<int(const char*, int, ...)>(#name)(path, flags, mode); \
  }
FAULTY_OPEN(open)
FAULTY_OPEN(open64)

VISIBLE int rename(const char* from, const char* to) noexcept {
  return fails("rename", to) ? -1 : real<int(const char*, const char*)>("rename")(from, to);
}
VISIBLE int unlink(const char* path) noexcept {
  return fails("unlink", path) ? -1 : real<int(const char*)>("unlink")(path);
}
VISIBLE int fsync(int file) { return fails("fsync", file) ? -1 : real<int(int)>("fsync")(file); }
VISIBLE int fdatasync(int file) {
  return fails("fsync", file) ? -1 : real<int(int)>("fdatasync")(file);
}
VISIBLE ssize_t write(int file, const void* data, std::size_t size) {
  return fails("write", file)
             ? -1
             : real<ssize_t(int, const void*, std::size_t)>("write")(file, data, size);
}
VISIBLE ssize_t pwrite64(int file, const void* data, std::size_t size, off64_t at) {
  return fails("write", file) ? -1
                              : real<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64")(
                                    file, data, size, at);
}
