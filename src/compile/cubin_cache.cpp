// cubin_cache.cpp -- the entry's bytes, and keeping the folder within its cap. An entry is
//   8 bytes  magic "gemmsmk" and the format's version
//   8 bytes  XXH3-64 of all that follows
//   8 bytes  length of the metadata
//   JSON metadata, then the cubin to the end of the file
// with little-endian numbers (every CUDA host is).
#include "compile/cubin_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/paths.h"

namespace gemmsmith::compile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic("gemmsmk\1", 8);
constexpr std::size_t kHeaderBytes = 24;
constexpr std::int64_t kDefaultMaxBytes = std::int64_t{1} << 30;
constexpr const char* kSuffix = ".kernel";

std::string number_bytes(std::uint64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint64_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<KernelStatus> parse_status(std::string_view text) {
  for (const KernelStatus status : {KernelStatus::kOk, KernelStatus::kCompileError,
                                    KernelStatus::kSpill, KernelStatus::kSerialised})
    if (text == name(status)) return status;
  return std::nullopt;
}

std::string encode(const CompiledKernel& kernel) {
  const nlohmann::json meta = {{"hash", kernel.hash},
                               {"status", name(kernel.status)},
                               {"registers", kernel.registers},
                               {"static_shared_bytes", kernel.static_shared_bytes},
                               {"spill_bytes", kernel.spill_bytes},
                               {"stack_bytes", kernel.stack_bytes},
                               {"log", kernel.log},
                               {"compile_s", kernel.compile_s}};
  // A log may quote bytes that are not UTF-8; they are replaced, not refused.
  const std::string text = meta.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string body = number_bytes(text.size()) + text + kernel.cubin;
  return std::string(kMagic) + number_bytes(hash64(body)) + body;
}

std::optional<CompiledKernel> decode(std::string_view bytes, const std::string& hash) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  if (number_at(bytes, 8) != hash64(bytes.substr(16))) return std::nullopt;
  const std::uint64_t meta_bytes = number_at(bytes, 16);
  if (meta_bytes > bytes.size() - kHeaderBytes) return std::nullopt;
  const std::string_view text = bytes.substr(kHeaderBytes, static_cast<std::size_t>(meta_bytes));
  try {
    const auto meta = nlohmann::json::parse(text.begin(), text.end());
    const auto status = parse_status(meta.at("status").get<std::string>());
    if (!status || meta.at("hash") != hash) return std::nullopt;
    CompiledKernel kernel;
    kernel.hash = hash;
    kernel.cubin = bytes.substr(kHeaderBytes + static_cast<std::size_t>(meta_bytes));
    kernel.status = *status;
    kernel.registers = meta.at("registers").get<int>();
    kernel.static_shared_bytes = meta.at("static_shared_bytes").get<int>();
    kernel.spill_bytes = meta.at("spill_bytes").get<int>();
    kernel.stack_bytes = meta.at("stack_bytes").get<int>();
    kernel.log = meta.at("log").get<std::string>();
    kernel.compile_s = meta.at("compile_s").get<double>();
    kernel.from_cache = true;
    return kernel;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // another build wrote other fields under the same version: compile anew
  }
}

struct Entry {
  fs::path path;
  std::int64_t bytes = 0;
  timespec used = {};
};

bool used_earlier(const Entry& a, const Entry& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

// The entries of the folder. Temporary files that a killed process left behind go by the way.
std::vector<Entry> scan(const fs::path& directory) {
  constexpr std::time_t kAbandonedAfterS = 3600;
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    struct stat info {};
    if (::stat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const fs::path extension = it->path().extension();
    if (extension == kSuffix)
      entries.push_back({it->path(), info.st_size, info.st_mtim});
    else if (extension == ".tmp" && std::time(nullptr) - info.st_mtim.tv_sec > kAbandonedAfterS)
      ::unlink(it->path().c_str());
  }
  return entries;
}

std::int64_t total_bytes(const std::vector<Entry>& entries) {
  std::int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  return total;
}

}  // namespace

CubinCache::CubinCache(fs::path directory, std::int64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error)
    warn_once(fmt::format("cannot make {}: {}", directory_.string(), error.message()));
  else if (::access(directory_.c_str(), W_OK) != 0)
    warn_once(fmt::format("cannot write in {}: {}", directory_.string(), std::strerror(errno)));
}

std::shared_ptr<CubinCache> CubinCache::open_default() {
  const auto directory = cache_directory();
  if (!directory) return nullptr;
  return std::make_shared<CubinCache>(*directory / "cubins", kDefaultMaxBytes);
}

fs::path CubinCache::path_of(const std::string& hash) const {
  return directory_ / (hash + kSuffix);
}

std::optional<CompiledKernel> CubinCache::find(const std::string& hash) const {
  const fs::path path = path_of(hash);
  const auto bytes = read_file(path);
  if (!bytes) return std::nullopt;
  auto kernel = decode(*bytes, hash);
  // The time of modification is the time of use: access times are often not kept.
  if (kernel) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return kernel;
}

void CubinCache::put(const CompiledKernel& kernel) {
  const std::string bytes = encode(kernel);
  const fs::path path = path_of(kernel.hash);
  // A pipe or a device would be written through, and waited for.
  if (!check_is_regular(path)) ::unlink(path.c_str());
  const auto written = write_file_atomic(path, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!written) return warn_once(written.error().what);
  if (bytes_ < 0)
    bytes_ = total_bytes(scan(directory_));
  else
    bytes_ += static_cast<std::int64_t>(bytes.size());
  if (bytes_ > max_bytes_) trim();
}

void CubinCache::warn_once(const std::string& why) {
  if (!std::exchange(warned_, true))
    log(LogLevel::kWarning, "the kernel cache is off: {}; kernels are compiled anew", why);
}

void CubinCache::trim() {
  std::vector<Entry> entries = scan(directory_);
  std::sort(entries.begin(), entries.end(), used_earlier);
  bytes_ = total_bytes(entries);
  // Down to nine tenths, so that not every write has to scan.
  for (const Entry& entry : entries) {
    if (bytes_ <= max_bytes_ / 10 * 9) return;
    if (::unlink(entry.path.c_str()) == 0) bytes_ -= entry.bytes;
  }
}

}  // namespace gemmsmith::compile
