// files.h -- whole-file input and output. Writing is all or nothing: a reader sees the old file or
// the new one, whatever happens in between.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

// More than any file that is read here: a hundred times the largest recording so far.
constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;
// Of what people write by hand: settings, rules.
constexpr std::size_t kMostSettingsBytes = std::size_t{1} << 20;

// That `path` leads, through links or not, to a regular file. What is none may wait for a writer or
// have no end. Errors (`code`) name it and what it is.
Result<void> check_is_regular(const std::filesystem::path& path,
                              ErrorCode code = ErrorCode::kBadInput);

// Whole contents of a regular file, of at most `most_bytes`. Errors (kBadInput) tell a missing
// file, a directory, pipe or device, a read failure and one that is too long apart.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t most_bytes = kMostFileBytes);

// The same of a pipe or a device too, for lists that another program may write (/dev/stdin).
// kInterrupted where the user gave up on a pipe that says nothing.
Result<std::string> read_stream(const std::filesystem::path& path, std::size_t most_bytes);

// Writes a sibling temporary, flushes it to the disk and renames it over `path`, or over what it
// links to: the link stays. On failure (`code`, with the system's reason: full, read-only, ...) the
// old file is untouched. What is no regular file (a pipe, a device, an open descriptor such as
// /dev/stdout) cannot be replaced: it is opened and written.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes,
                               ErrorCode code = ErrorCode::kEnvironment);

// The first half of write_file_atomic() without the second, for files that belong together: once
// all of them lie on the disk, each is committed.
class StagedFile {
 public:
  static Result<StagedFile> write(const std::filesystem::path& path, std::string_view bytes,
                                  ErrorCode code = ErrorCode::kEnvironment);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();  // what was not committed is removed

  Result<void> commit();  // once

 private:
  StagedFile() = default;
  std::filesystem::path path_, target_, temporary_;
  std::optional<std::string> through_;  // what is no regular file gets it from commit()
  ErrorCode code_ = ErrorCode::kEnvironment;
};

// That write_file_atomic() to `path` would work now, by trying all of it but the rename: for what
// takes long to compute. Changes nothing. Errors as there.
Result<void> check_can_write(const std::filesystem::path& path,
                             ErrorCode code = ErrorCode::kEnvironment);

// A pipe that nobody reads: whoever opens it for writing waits. For what must not wait, such as a
// log.
bool is_unread_pipe(const std::filesystem::path& path);

}  // namespace gemmsmith
