// sweep.h -- a verb's work on one shape after another, which one Ctrl-C or an error ends: what was
// finished is printed, and the user is told how much that is and what is missing.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"

namespace gemmsmith::cli {

struct Sweep {
  std::size_t done = 0;
  std::size_t total = 0;
  bool is_interrupted = false;
  std::optional<Error> error;         // of the first shape that failed
  std::vector<std::string> not_done;  // the shapes that failed or, after such an error, wait
};

// Does `work` for each problem until the user stops it, between two or inside one (kInterrupted),
// whose part is lost. What nothing here can compute (kUnsupported: a recording lacks it) costs its
// own shape; any other error ends all of it. Returned as an error where nothing was finished.
Result<Sweep> sweep(std::span<const Problem> problems,
                    const std::function<Result<void>(const Problem&)>& work);

// The verb's exit code, once the results are printed: 130 with a word on what is left where the
// user stopped it, else the error's with the shapes that are missing, else 1 where something was
// bad, else 0.
int end(const Sweep& sweep, bool is_bad);

}  // namespace gemmsmith::cli
