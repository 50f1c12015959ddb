// sweep.h -- a verb's work on one shape after another, which one Ctrl-C ends: what was finished is
// printed, and the user is told how much that is.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.h"
#include "problem/problem.h"

namespace gemmsmith::cli {

struct Sweep {
  std::size_t done = 0;
  std::size_t total = 0;
  bool is_interrupted() const { return done < total; }
};

// Does `work` for each problem until the user stops it, between two or inside one (kInterrupted),
// whose part is lost. Any other error ends all of it and is returned.
Result<Sweep> sweep(std::span<const Problem> problems,
                    const std::function<Result<void>(const Problem&)>& work);

// The verb's exit code, once the results are printed: 130 with a word on what is left where the
// user stopped it, else 1 where something was bad, else 0.
int end(const Sweep& sweep, bool is_bad);

}  // namespace gemmsmith::cli
