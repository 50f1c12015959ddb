// library_name.h -- what an exported library may be called. Its name becomes a CMake target, files
// that consumers have on their include path, a library's file and the prefix of functions and
// macros: in each of these places some names are taken.
#pragma once

#include <string>

#include "base/result.h"

namespace gemmsmith::exporting {

// Error (kBadInput), with the rule that the name breaks: no C identifier of at most 64 characters;
// reserved by C; or, whatever the case of its letters, a keyword, a target of CMake's, a header or
// a library of the system's, CUDA's or ours, or a prefix by which functions or macros of those
// would be defined twice.
Result<void> check_library_name(const std::string& name);

}  // namespace gemmsmith::exporting
