// recording.h -- measured spaces as a file: one measurement a row, `<name>.csv.zst` (or plain
// `.csv`), with what was the same for all of them in `<name>.json` beside it. The format is
// described in docs/format_recording.md.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/measurement.h"

namespace gemmsmith {

// The first line of every recording.
extern const std::string_view kRecordingHeader;

// Errors (kBadInput) read "FILE:LINE: column: what was expected".
Result<std::vector<Measurement>> parse_recording(std::string_view text,
                                                 const std::string& file_name);
// Times keep five significant digits, repeats four. Errors (kBadInput) name a row that the format
// cannot hold: other than packed leading dimensions, alpha 1 and beta 0, or a field with a comma.
Result<std::string> format_recording(std::span<const Measurement> rows);

// The suffix decides on compression: ".csv.zst" or ".csv". Errors (kBadInput) tell a missing file,
// a directory, damaged compression and bad rows apart.
Result<std::vector<Measurement>> read_recording(const std::filesystem::path& path);
Result<void> write_recording(const std::filesystem::path& path, std::span<const Measurement> rows);
// With its sidecar (JSON): both or, where one of them cannot be written, neither.
Result<void> write_recording(const std::filesystem::path& path, std::span<const Measurement> rows,
                             std::string_view sidecar);

// "grid.csv" <-> "grid.csv.zst": the one that has the same sidecar.
std::filesystem::path other_recording(const std::filesystem::path& recording);
// "grid.csv.zst" -> "grid.json"
std::filesystem::path sidecar_path(const std::filesystem::path& recording);
Result<std::string> read_sidecar(const std::filesystem::path& recording);

}  // namespace gemmsmith
