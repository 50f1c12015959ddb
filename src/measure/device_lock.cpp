#include "measure/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace gemmsmith {
namespace {

constexpr std::chrono::milliseconds kStep{50};
constexpr int kStepsPerCall = 20;

// Reading is enough to lock, also for other users than the file's. Creating comes second: the
// kernel may refuse O_CREAT on another user's file in a folder like /tmp (fs.protected_regular).
int open_file(const std::string& path) {
  const int known = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (known >= 0 || errno != ENOENT) return known;
  return ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
}

}  // namespace

std::filesystem::path DeviceLock::path_of(const std::string& uuid) {
  return "/tmp/gemmsmith-" + uuid + ".lock";
}

Result<DeviceLock> DeviceLock::take(const std::string& uuid,
                                    const std::function<Result<void>()>& while_waiting) {
  const std::string path = path_of(uuid).string();
  DeviceLock lock(open_file(path));
  const auto failed = [&path] {
    return fail(ErrorCode::kEnvironment, "cannot lock {}: {}", path,
                std::generic_category().message(errno));
  };
  if (lock.file_ < 0) return failed();
  for (int step = 0; ::flock(lock.file_, LOCK_EX | LOCK_NB) != 0; ++step) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failed();
    if (step % kStepsPerCall == 0) GEMMSMITH_CHECK(while_waiting());
    std::this_thread::sleep_for(kStep);
  }
  return lock;
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DeviceLock& DeviceLock::operator=(DeviceLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) ::close(file_);  // which unlocks
}

}  // namespace gemmsmith
