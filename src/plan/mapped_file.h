// mapped_file.h -- a whole file in memory, read-only and shared between processes.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace gemmsmith::plan {

class MappedFile {
 public:
  // Errors (kBadInput) tell a missing file, a directory and a failure to map apart.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // On a page boundary. The file must not be shortened while it is mapped; replacing it is safe.
  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gemmsmith::plan
