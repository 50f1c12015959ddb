// run_program.h -- runs the built command line as a user would and keeps what it printed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gemmsmith::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Environment: the caller's without any GEMMSMITH_ variable, with HOME an empty folder of the
// test's own, plus `environment`.
ProgramResult run_program(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment = {});

// A new empty folder, removed when the process ends.
std::string fresh_folder();

}  // namespace gemmsmith::test
