// files.h -- whole-file input and output. Writing is all or nothing: a reader sees the old file or
// the new one, whatever happens in between.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

// Whole contents, of at most `most_bytes`: a pipe or a device may have no end. Errors (kBadInput)
// tell a missing file, a directory, a read failure and one that is too long apart; kInterrupted
// where the user gave up on a pipe that says nothing.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

// Writes a sibling temporary, flushes it to the disk and renames it over `path`, or over what it
// links to: the link stays. On failure (`code`, with the system's reason: full, read-only, ...) the
// old file is untouched. What is no regular file (a pipe, a device, an open descriptor such as
// /dev/stdout) cannot be replaced: it is opened and written.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes,
                               ErrorCode code = ErrorCode::kEnvironment);

}  // namespace gemmsmith
