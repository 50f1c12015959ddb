#include "plan/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace gemmsmith::plan {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  GEMMSMITH_CHECK(check_is_regular(path));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return fail(ErrorCode::kBadInput, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat info {};
  const bool is_known = ::fstat(fd, &info) == 0;
  MappedFile file;
  if (is_known && info.st_size > 0) {
    file.size_ = static_cast<std::size_t>(info.st_size);
    file.address_ = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd, 0);
  }
  const int reason = errno;
  ::close(fd);
  if (!is_known || file.address_ == MAP_FAILED) {
    file.address_ = nullptr;
    return fail(ErrorCode::kBadInput, "cannot map {}: {}", path.string(), std::strerror(reason));
  }
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace gemmsmith::plan
