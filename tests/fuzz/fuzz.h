// fuzz.h -- what the fuzz targets share. A target is one file that defines libFuzzer's entry
// function; it feeds the input to one parser and demands more than that nothing crashes: what a
// parser accepts must be legal, and must come back when it is written and read again.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gemmsmith::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process so that libFuzzer keeps the input.
inline void require(bool holds, const std::string& promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

// A folder of this process, for parsers that read files. In TMPDIR: scripts/fuzz.sh puts it into
// memory.
inline const std::filesystem::path& scratch_folder() {
  struct Folder {
    Folder()
        : path(std::filesystem::temp_directory_path() /
               ("gemmsmith_fuzz_" + std::to_string(::getpid()))) {
      std::filesystem::create_directories(path);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace gemmsmith::fuzz
