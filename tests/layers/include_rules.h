// include_rules.h -- the order of the folders of src/, and which folders may use which packages. A
// file includes its own folder and folders of lower rank; equals do not include each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gemmsmith::layers {

struct Violation {
  std::string file;  // below src/
  int line = 0;
  std::string reason;
};

// Every include below `source_folder` (a repository's src/) that breaks a rule; also files in a
// folder that has no rank.
std::vector<Violation> find_violations(const std::filesystem::path& source_folder);

// The number of includes that were looked at, so that a test can tell that some were.
int count_includes(const std::filesystem::path& source_folder);

}  // namespace gemmsmith::layers
