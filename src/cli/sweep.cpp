#include "cli/sweep.h"

#include "base/interrupt.h"
#include "base/log.h"

namespace gemmsmith::cli {

Result<Sweep> sweep(std::span<const Problem> problems,
                    const std::function<Result<void>(const Problem&)>& work) {
  Sweep sweep{0, problems.size()};
  for (const Problem& problem : problems) {
    if (interrupted()) break;
    if (const auto done = work(problem); !done) {
      if (done.error().code == ErrorCode::kInterrupted) break;
      return tl::unexpected<Error>(done.error());
    }
    ++sweep.done;
  }
  return sweep;
}

int end(const Sweep& sweep, bool is_bad) {
  if (!sweep.is_interrupted()) return is_bad ? 1 : 0;
  talk("interrupted: {} of {} shapes are done, and printed\n", sweep.done, sweep.total);
  return exit_code(ErrorCode::kInterrupted);
}

}  // namespace gemmsmith::cli
