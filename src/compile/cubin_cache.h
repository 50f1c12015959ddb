// cubin_cache.h -- compiled kernels on disk, one file a kernel named by its hash. Safe for many
// processes: files appear whole by rename, carry a checksum, and a bad one counts as a miss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "compile/compiler.h"

namespace gemmsmith::compile {

class CubinCache {
 public:
  // `directory` is made if it can be. Where it cannot be written, reading still works and one
  // warning is logged. Capped at `max_bytes`: the least recently used entries go first.
  CubinCache(std::filesystem::path directory, std::int64_t max_bytes);

  // The usual place ($XDG_CACHE_HOME/gemmsmith/cubins), 1 GiB; null where there is no home.
  static std::shared_ptr<CubinCache> open_default();

  // Empty on a miss, and where the entry is truncated, corrupt or of another version.
  std::optional<CompiledKernel> find(const std::string& hash) const;
  // Failures to write are logged once and otherwise ignored: a cache may always be absent.
  void put(const CompiledKernel& kernel);

  std::filesystem::path path_of(const std::string& hash) const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  void warn_once(const std::string& why);
  void trim();

  std::filesystem::path directory_;
  std::int64_t max_bytes_;
  std::mutex mutex_;         // guards the two below
  std::int64_t bytes_ = -1;  // an estimate (other processes write too); -1 before the first scan
  bool warned_ = false;
};

}  // namespace gemmsmith::compile
