// files.h -- whole-file input and output. Writing is all or nothing: a reader sees the old file or
// the new one, whatever happens in between.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

// Whole contents. Errors (kBadInput) tell a missing file, a directory and a read failure apart;
// kInterrupted where the user gave up on a pipe that says nothing.
Result<std::string> read_file(const std::filesystem::path& path);

// Writes a sibling temporary, flushes it to the disk and renames it over `path`, or over what it
// links to: the link stays. On failure (`code`, with the system's reason: full, read-only, ...) the
// old file is untouched.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes,
                               ErrorCode code = ErrorCode::kEnvironment);

}  // namespace gemmsmith
