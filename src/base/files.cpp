#include "base/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/interrupt.h"

namespace gemmsmith {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR && !interrupted()) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path result = path;
  result += fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
  return result;
}

// Where a write to `path` goes: a link's target, which need not exist yet, and which a rename over
// the link would leave as it was.
Result<std::filesystem::path> link_target(std::filesystem::path path, ErrorCode code) {
  constexpr int kMostLinks = 40;  // as the kernel's own limit
  const std::string named = path.string();
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(path, error)) return path;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return fail(code, "cannot follow {}: {}", path.string(), error.message());
    path = path.parent_path() / target;  // an absolute target stands alone
  }
  return fail(code, "cannot write {}: {}", named, std::strerror(ELOOP));
}

// A link to one of a process's open files, as /dev/stdout is.
bool names_descriptor(std::filesystem::path path) {
  std::error_code error;
  while (std::filesystem::is_symlink(path, error)) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    struct statfs system {};
    if (::statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) return true;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return false;
    path = path.parent_path() / target;
  }
  return false;
}

// What a rename would put a file in the place of, instead of writing to it.
bool is_written_through(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return false;
  return !S_ISREG(info.st_mode) || names_descriptor(path);
}

Result<void> write_through(const std::filesystem::path& path, std::string_view bytes,
                           ErrorCode code) {
  // A pipe's open waits for a reader and its write for room: the user may give up on either.
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() >= 0 && write_all(file.get(), bytes)) return {};
  const int reason = errno;
  if (reason == EINTR && interrupted())
    return fail(ErrorCode::kInterrupted, "interrupted while writing {}", path.string());
  return fail(code, "cannot write {}: {}", path.string(), std::strerror(reason));
}

const char* kind_of(unsigned mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Result<std::string> read_all(int file, const std::filesystem::path& path, std::size_t most_bytes) {
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got == 0) return bytes;
    if (got < 0) {
      // A pipe may keep us waiting for ever.
      if (errno == EINTR && interrupted())
        return fail(ErrorCode::kInterrupted, "interrupted while reading {}", path.string());
      if (errno == EINTR) continue;
      return fail(ErrorCode::kBadInput, "cannot read {}: {}", path.string(), std::strerror(errno));
    }
    if (static_cast<std::size_t>(got) > most_bytes - bytes.size())
      return fail(ErrorCode::kBadInput, "cannot read {}: longer than {} bytes", path.string(),
                  most_bytes);
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<void> check_is_regular(const std::filesystem::path& path, ErrorCode code) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return fail(code, "cannot open {}: {}", path.string(), std::strerror(errno));
  if (S_ISREG(info.st_mode)) return {};
  return fail(code, "cannot read {}: it is {}, expected a file", path.string(),
              kind_of(info.st_mode));
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t most_bytes) {
  // Looked at before it is opened: opening a device may already do something to it.
  GEMMSMITH_CHECK(check_is_regular(path, ErrorCode::kBadInput));
  // What has become a pipe meanwhile is not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0)
    return fail(ErrorCode::kBadInput, "cannot open {}: {}", path.string(), std::strerror(errno));
  return read_all(file.get(), path, most_bytes);
}

Result<std::string> read_stream(const std::filesystem::path& path, std::size_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 && errno == EINTR && interrupted())
    return fail(ErrorCode::kInterrupted, "interrupted while opening {}", path.string());
  if (file.get() < 0)
    return fail(ErrorCode::kBadInput, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode))
    return fail(ErrorCode::kBadInput, "cannot read {}: it is a directory, expected a file",
                path.string());
  return read_all(file.get(), path, most_bytes);
}

Result<StagedFile> StagedFile::write(const std::filesystem::path& path, std::string_view bytes,
                                     ErrorCode code) {
  StagedFile staged;
  staged.path_ = path;
  staged.code_ = code;
  if (is_written_through(path)) {
    staged.through_ = std::string(bytes);
    return staged;
  }
  GEMMSMITH_TRY(staged.target_, link_target(path, code));
  std::error_code ignored;
  if (std::filesystem::is_directory(staged.target_, ignored))
    return fail(code, "cannot replace {}: {}; the old file is untouched", path.string(),
                std::strerror(EISDIR));
  const std::filesystem::path temporary = temporary_beside(staged.target_);
  const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0)
    return fail(code, "cannot create {}: {}", temporary.string(), std::strerror(errno));
  staged.temporary_ = temporary;
  if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0)
    return fail(code, "cannot write {}: {}; the old file is untouched", path.string(),
                std::strerror(errno));
  return staged;
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      through_(std::exchange(other.through_, std::nullopt)),
      code_(other.code_) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> StagedFile::commit() {
  if (through_) return write_through(path_, *through_, code_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    return fail(code_, "cannot replace {}: {}; the old file is untouched", path_.string(),
                std::strerror(errno));
  temporary_.clear();
  return {};
}

Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes,
                               ErrorCode code) {
  GEMMSMITH_TRY(StagedFile staged, StagedFile::write(path, bytes, code));
  return staged.commit();
}

bool is_unread_pipe(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return false;
  const Descriptor pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return pipe.get() < 0 && errno == ENXIO;
}

Result<void> check_can_write(const std::filesystem::path& path, ErrorCode code) {
  if (is_written_through(path)) {
    if (::access(path.c_str(), W_OK) == 0) return {};
    return fail(code, "cannot write {}: {}", path.string(), std::strerror(errno));
  }
  // What is staged and not committed leaves nothing behind.
  GEMMSMITH_CHECK(StagedFile::write(path, {}, code));
  return {};
}

}  // namespace gemmsmith
