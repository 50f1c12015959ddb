// cubin_cache.h -- compiled kernels on disk, one file a kernel named by its hash. Safe for many
// processes: files appear whole by rename, carry a checksum, and a bad one counts as a miss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compile/compiler.h"

namespace gemmsmith::compile {

class CubinCache {
 public:
  // `directory` is made if it can be. Where it cannot be written, reading still works and
  // `writable` says why not (one warning is logged). Capped at `max_bytes`: the least recently
  // used entries go first.
  CubinCache(std::filesystem::path directory, std::int64_t max_bytes);

  // The usual place ($XDG_CACHE_HOME/gemmsmith/cubins), 1 GiB; null where there is no home.
  static std::shared_ptr<CubinCache> open_default();

  std::optional<CompiledKernel> find(const std::string& hash) const;
  // Failures to write are logged once and otherwise ignored: a cache may always be absent.
  void put(const CompiledKernel& kernel);

  std::filesystem::path path_of(const std::string& hash) const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  void trim();
  std::filesystem::path directory_;
  std::int64_t max_bytes_;
  bool writable_ = true;
};

}  // namespace gemmsmith::compile
