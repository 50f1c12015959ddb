// run_program.h -- runs the built command line as a user would and keeps what it printed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gemmsmith::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// A variable and its value; without one it is unset.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

// Environment: the caller's without any GEMMSMITH_ variable, with HOME an empty folder of the
// test's own, changed by `environment`. As another user where `user` is given (needs root).
ProgramResult run_program(const std::vector<std::string>& arguments,
                          const Variables& environment = {}, std::optional<unsigned> user = {});

// The same, sent one SIGINT as soon as `ready` holds; it is asked every few milliseconds with the
// folder where the program's output so far is, as files "out" and "err".
ProgramResult run_interrupted(const std::vector<std::string>& arguments,
                              const Variables& environment,
                              const std::function<bool(const std::string& folder)>& ready);

// A new empty folder, removed when the process ends.
std::string fresh_folder();

}  // namespace gemmsmith::test
