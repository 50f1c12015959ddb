// exported_library.h -- a plan table's plans for chosen problems as a C library of its own: sources
// with the kernels inside, a header, a CMake file and the table cut to those plans. Whoever links
// it needs the CUDA driver when it runs and nothing of gemmsmith. The same input gives the same
// bytes.
//
// Everything about a launch but pointers and scalars is worked out here and written down as data,
// so the exported C text knows nothing of tiles and orders.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan_table.h"
#include "problem/problem.h"

namespace gemmsmith::exporting {

struct LeftOut {
  Problem problem;
  std::string reason;
};

struct ExportedLibrary {
  std::map<std::string, std::string> files;  // by name, below the folder
  int plans = 0;
  std::vector<LeftOut> left_out;
};

// `name` becomes the prefix of files and functions. Errors (kBadInput): a name that
// check_library_name() refuses; no problem that a kernel of the table serves.
Result<ExportedLibrary> export_library(const plan::PlanTable& table,
                                       std::span<const Problem> problems, const std::string& name);

// How the CMake file of every export begins.
inline constexpr std::string_view kCmakeBegin = "# Exported by gemmsmith.";

// The texts that do not depend on the plans; @NAME@ and @NAME_UPPER@ stand for the name, @INCLUDE@
// for #include of an exported file, which is none of src/'s.
const char* library_header_text();
const char* library_source_text();

}  // namespace gemmsmith::exporting
