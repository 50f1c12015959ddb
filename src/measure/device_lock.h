// device_lock.h -- one process times on a GPU at a time: two would measure each other. Held for the
// length of a request, so that several tuners take turns, and gone with the process that holds it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace gemmsmith {

class DeviceLock {
 public:
  // The lock file of a device: in /tmp, which all users of a machine share, whatever their
  // environment says.
  static std::filesystem::path path_of(const std::string& uuid);

  // Waits until it is free. `while_waiting` is called before the first wait and then about once a
  // second; its error ends the waiting. A lock file that cannot be opened is an Error
  // (kEnvironment), with the reason.
  static Result<DeviceLock> take(const std::string& uuid,
                                 const std::function<Result<void>()>& while_waiting);

  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&& other) noexcept;
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  ~DeviceLock();

 private:
  explicit DeviceLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace gemmsmith
