// library_folder.h -- an exported library on the disk, whole or not at all: its files are written
// into a folder beside, which then takes the place of the one that was there.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "export/exported_library.h"

namespace gemmsmith::exporting {

// `folder` may be missing (as its parents may), empty, or an earlier export and nothing else, which
// is replaced; a link to a folder stays one. Errors, after which `folder` is as it was: kBadInput
// where it is something else, has other files in it (each export's own are known by its CMake file)
// or holds the current directory; kEnvironment with the system's reason. A process that is killed
// may leave `.NAME.PID.tmp` beside it.
Result<void> write_library(const std::filesystem::path& folder, const ExportedLibrary& library);

}  // namespace gemmsmith::exporting
