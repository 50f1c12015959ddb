#include "watch/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace gemmsmith::watch {
namespace {

// What must hold before the shapes are looked at.
Result<void> check(const Header& header, const std::string& name) {
  if (header.magic != kMagic)
    return fail(ErrorCode::kBadInput, "{} is another kind of file: it is left as it is", name);
  if (header.byte_order != kByteOrder || header.version != kVersion)
    return fail(ErrorCode::kBadInput,
                "{} has version {}, this gemmsmith reads version {}: use the same gemmsmith for "
                "both, or remove the file",
                name, header.version, kVersion);
  if (header.file_bytes != sizeof(File) || header.shape_count != kMostShapes ||
      header.shape_bytes != sizeof(Shape))
    return fail(ErrorCode::kBadInput, "{} is damaged: its sizes cannot be; remove it", name);
  return {};
}

struct flock byte_lock(short type, long byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::string_view view(const Text& text) {
  const auto end = std::find(text.begin(), text.end(), '\0');
  return {text.data(), static_cast<std::size_t>(end - text.begin())};
}

void write_text(Text& text, std::string_view value) {
  text.fill('\0');
  std::memcpy(text.data(), value.data(), std::min(value.size(), text.size() - 1));
}

Mapping::Mapping(Mapping&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      file_(std::exchange(other.file_, nullptr)),
      temporary_(std::exchange(other.temporary_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(file_, other.file_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

Mapping::~Mapping() {
  if (file_ != nullptr) munmap(file_, sizeof(File));
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> Mapping::map(const std::string& name) {
  void* address = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED)
    return fail(ErrorCode::kEnvironment, "cannot map {}: {}", name, std::strerror(errno));
  file_ = static_cast<File*>(address);
  return {};
}

Result<Mapping> Mapping::open(const std::filesystem::path& path) {
  const std::string name = path.string();
  Mapping mapping;
  // Neither a pipe's other end nor a terminal is waited for.
  mapping.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (mapping.descriptor_ < 0)
    return fail(ErrorCode::kBadInput, "cannot open {}: {}", name, std::strerror(errno));
  struct stat info = {};
  if (fstat(mapping.descriptor_, &info) != 0 || !S_ISREG(info.st_mode))
    return fail(ErrorCode::kBadInput, "{} is no regular file: it is left as it is", name);
  Header header = {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::size_t head = std::min<std::size_t>(size, sizeof header);
  std::array<char, sizeof header> bytes = {};
  if (pread(mapping.descriptor_, bytes.data(), head, 0) != static_cast<ssize_t>(head))
    return fail(ErrorCode::kBadInput, "cannot read {}: {}", name, std::strerror(errno));
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  GEMMSMITH_CHECK(check(header, name));
  if (size != sizeof(File))
    return fail(ErrorCode::kBadInput,
                "{} has {} bytes and should have {}: truncated or overwritten; remove it", name,
                size, sizeof(File));
  GEMMSMITH_CHECK(mapping.map(name));
  return mapping;
}

Result<Mapping> Mapping::create(const std::filesystem::path& path) {
  Mapping mapping;
  std::string name = path.string() + ".XXXXXX";
  mapping.descriptor_ = mkostemp(name.data(), O_CLOEXEC);  // 0600: its owner's alone
  if (mapping.descriptor_ < 0)
    return fail(ErrorCode::kEnvironment, "cannot make {}: {}", path.string(), std::strerror(errno));
  mapping.temporary_ = name;
  // With its blocks: a page that a full disk cannot hold later would end the process.
  if (const int error = posix_fallocate(mapping.descriptor_, 0, sizeof(File)); error != 0)
    return fail(ErrorCode::kEnvironment, "cannot make {}: {}", path.string(), std::strerror(error));
  GEMMSMITH_CHECK(mapping.map(path.string()));
  Header& header = mapping->header;  // the rest is zero
  header.magic = kMagic;
  header.byte_order = kByteOrder;
  header.version = kVersion;
  header.file_bytes = sizeof(File);
  header.shape_count = kMostShapes;
  header.shape_bytes = sizeof(Shape);
  header.process = static_cast<std::uint32_t>(getpid());
  if (!mapping.lock(kProcessLock))
    return fail(ErrorCode::kEnvironment, "cannot lock {}: {}", path.string(), std::strerror(errno));
  return mapping;
}

Result<void> Mapping::move_to(const std::filesystem::path& path) {
  if (rename(temporary_.c_str(), path.c_str()) != 0)
    return fail(ErrorCode::kEnvironment, "cannot make {}: {}", path.string(), std::strerror(errno));
  temporary_.clear();
  return {};
}

bool Mapping::lock(long byte) const {
  struct flock lock = byte_lock(F_WRLCK, byte);
  return fcntl(descriptor_, F_SETLK, &lock) == 0;
}

void Mapping::unlock(long byte) const {
  struct flock lock = byte_lock(F_UNLCK, byte);
  fcntl(descriptor_, F_SETLK, &lock);
}

int Mapping::holder(long byte) const {
  struct flock lock = byte_lock(F_WRLCK, byte);
  if (fcntl(descriptor_, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  // 0 where it is in another container, whose numbers mean nothing here: but somebody holds it.
  return lock.l_pid > 0 ? lock.l_pid : -1;
}

bool Mapping::is_at(const std::filesystem::path& path) const {
  struct stat mine = {};
  struct stat there = {};
  return fstat(descriptor_, &mine) == 0 && stat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

}  // namespace gemmsmith::watch
