#include "cli/sweep.h"

#include <algorithm>

#include "base/interrupt.h"
#include "base/log.h"

namespace gemmsmith::cli {

Result<Sweep> sweep(std::span<const Problem> problems,
                    const std::function<Result<void>(const Problem&)>& work) {
  Sweep sweep;
  sweep.total = problems.size();
  bool is_over = false;
  for (const Problem& problem : problems) {
    if (is_over) {
      sweep.not_done.push_back(shape_name(problem));
      continue;
    }
    sweep.is_interrupted = interrupted();
    if (sweep.is_interrupted) break;
    const auto done = work(problem);
    if (done) {
      ++sweep.done;
      continue;
    }
    sweep.is_interrupted = done.error().code == ErrorCode::kInterrupted;
    if (sweep.is_interrupted) break;
    if (!sweep.error) sweep.error = done.error();
    sweep.not_done.push_back(shape_name(problem));
    is_over = done.error().code != ErrorCode::kUnsupported;
    if (is_over) sweep.error = done.error();
  }
  if (sweep.error && sweep.done == 0 && !sweep.is_interrupted)
    return tl::unexpected<Error>(*sweep.error);
  return sweep;
}

int end(const Sweep& sweep, bool is_bad) {
  if (sweep.error) {
    constexpr std::size_t kMostNamed = 20;
    std::string names;
    for (std::size_t i = 0; i < std::min(kMostNamed, sweep.not_done.size()); ++i)
      names += (i == 0 ? "" : ", ") + sweep.not_done[i];
    if (sweep.not_done.size() > kMostNamed)
      names += fmt::format(" and {} more", sweep.not_done.size() - kMostNamed);
    talk("gemmsmith: {}\n{} of {} shapes are done, and printed; not done: {}\n", sweep.error->what,
         sweep.done, sweep.total, names);
    if (!sweep.is_interrupted) return exit_code(sweep.error->code);
  }
  if (!sweep.is_interrupted) return is_bad ? 1 : 0;
  talk("interrupted: {} of {} shapes are done, and printed\n", sweep.done, sweep.total);
  return exit_code(ErrorCode::kInterrupted);
}

}  // namespace gemmsmith::cli
