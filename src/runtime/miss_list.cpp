#include "runtime/miss_list.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/files.h"
#include "base/hash.h"

namespace gemmsmith::runtime {
namespace {

constexpr std::string_view kHeader =
    "m,n,k,batch,type,acc,layout,lda,ldb,ldc,ldd,alpha,beta,stride_a,stride_b,stride_c,stride_d,"
    "out\n";

// Values of alpha and beta beyond their class change no plan.
std::uint64_t identity_of(const Problem& p) {
  const std::int64_t fields[] = {p.m,
                                 p.n,
                                 p.k,
                                 p.batch,
                                 p.lda,
                                 p.ldb,
                                 p.ldc,
                                 p.ldd,
                                 p.stride_a,
                                 p.stride_b,
                                 p.stride_c,
                                 p.stride_d,
                                 static_cast<std::int64_t>(p.type),
                                 static_cast<std::int64_t>(p.accumulator),
                                 static_cast<std::int64_t>(p.layout),
                                 static_cast<std::int64_t>(p.f32_output),
                                 static_cast<std::int64_t>(plan::epilogue_of(p.alpha, p.beta))};
  const std::uint64_t hash = hash64({reinterpret_cast<const char*>(fields), sizeof fields});
  return hash == 0 ? 1 : hash;  // 0 marks an empty slot
}

// Strides without a batch stay empty.
std::string line_of(const Problem& p) {
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", p.m, p.n, p.k, p.batch, name(p.type),
                  name(p.accumulator), name(p.layout), p.lda, p.ldb, p.ldc, p.ldd, p.alpha, p.beta);
  line += p.is_batched()
              ? fmt::format(",{},{},{},{}", p.stride_a, p.stride_b, p.stride_c, p.stride_d)
              : ",,,,";
  return line + fmt::format(",{}\n", name(p.output_type()));
}

std::string with_process_number(std::string path) {
  if (const std::size_t at = path.find("%i"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

// Whether lines may follow what the file holds already: its first line says so. True where it
// cannot be read, as a pipe cannot.
bool has_header(int file) {
  std::string start(kHeader.size(), '\0');
  const ssize_t count = pread(file, start.data(), start.size(), 0);
  return count <= 0 || start == kHeader;
}

// Other processes may append to the same file: a lock, so that its first line is written once. What
// went wrong, or "".
std::string append(const std::string& path, std::string text) {
  // A process that ends must not wait for somebody to read what it missed.
  if (is_unread_pipe(path)) return "a pipe that nobody reads";
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return std::strerror(errno);
  flock(file, LOCK_EX);  // not on every file system; then only the doubled first line is at stake
  struct stat status = {};
  if (fstat(file, &status) == 0 && status.st_size == 0) text.insert(0, kHeader);
  if (status.st_size != 0 && S_ISREG(status.st_mode) && !has_header(file)) {
    close(file);
    return "the file's first line names other columns: give another file";
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  const int error = errno;
  close(file);
  return done == text.size() ? "" : std::strerror(error);
}

}  // namespace

MissList::MissList(std::string path) : path_(with_process_number(std::move(path))) {}

namespace {

const std::string& recorded_file() {
  static const auto* const path = [] {
    const char* named = std::getenv("GEMMSMITH_RECORD");
    return new std::string(named != nullptr ? named : "");
  }();
  return *path;
}

}  // namespace

bool MissList::is_recorded_by_process() { return !recorded_file().empty(); }

MissList& MissList::of_process() {
  static MissList* const list = [] {
    auto* made = new MissList(recorded_file());
    if (made->is_recording()) std::atexit([] { of_process().write(); });
    return made;
  }();
  return *list;
}

bool MissList::note(const Problem& problem) {
  const std::uint64_t identity = identity_of(problem);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[(identity + i) % slots_.size()];
    std::uint64_t found = slot.identity.load(std::memory_order_acquire);
    if (found == identity) return false;
    if (found != 0) continue;
    if (used_.fetch_add(1, std::memory_order_relaxed) >= kMost) {
      used_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    if (!slot.identity.compare_exchange_strong(found, identity)) {
      used_.fetch_sub(1, std::memory_order_relaxed);
      if (found == identity) return false;
      continue;
    }
    slot.problem = problem;
    slot.is_ready.store(true, std::memory_order_release);
    unwritten_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

std::string MissList::write() {
  if (!is_recording() || has_failed_ || !has_unwritten()) return "";
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return "";
  std::string text;
  std::int64_t count = 0;
  for (Slot& slot : slots_) {
    if (slot.is_written || !slot.is_ready.load(std::memory_order_acquire)) continue;
    text += line_of(slot.problem);
    slot.is_written = true;
    ++count;
  }
  unwritten_.fetch_sub(count, std::memory_order_relaxed);
  if (count == 0) return "";
  const std::string failure = append(path_, std::move(text));
  if (failure.empty()) return "";
  has_failed_ = true;
  return fmt::format("cannot write GEMMSMITH_RECORD={}: {}; problems are no longer recorded", path_,
                     failure);
}

}  // namespace gemmsmith::runtime
