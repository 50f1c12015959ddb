// mapping.h -- what both sides need of the shared file: the clock, locks, the checks before it is
// believed, and its bytes in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "watch/layout.h"

namespace gemmsmith::watch {

std::uint64_t now_ns();  // CLOCK_MONOTONIC: the same for every process of the machine

// Without its zeros.
std::string_view view(const Text& text);
// Cut where it is too long.
void write_text(Text& text, std::string_view value);

// An open descriptor and its mapping, if any.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // An existing file, which must be whole and of this version. Errors: kBadInput with what is
  // wrong.
  static Result<Mapping> open(const std::filesystem::path& path);
  // A new one beside `path`, empty, with the process's lock; move_to() puts it there.
  static Result<Mapping> create(const std::filesystem::path& path);
  Result<void> move_to(const std::filesystem::path& path);

  File* operator->() const { return file_; }
  File* get() const { return file_; }

  // Takes this process's lock on a byte; false where another process has it.
  bool lock(long byte) const;
  void unlock(long byte) const;
  // The process that holds it, as this process sees it; 0 where none but this one does.
  int holder(long byte) const;
  // Whether it is what `path` names now.
  bool is_at(const std::filesystem::path& path) const;

 private:
  Result<void> map(const std::string& name);
  int descriptor_ = -1;
  File* file_ = nullptr;
  std::filesystem::path temporary_;
};

}  // namespace gemmsmith::watch
