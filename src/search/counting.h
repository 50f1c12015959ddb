// counting.h -- hardware counters of what was chosen among, after all timing: a process and a run
// of their own. Counting slows launches down, so nothing is timed here, and nothing that was timed
// changes.
#pragma once

#include <map>
#include <span>
#include <string>

#include "search/tuner.h"

namespace gemmsmith {

struct CountSummary {
  std::string run;                    // empty where there was nothing to count
  int counted = 0;                    // launches
  std::map<std::string, int> failed;  // why a launch could not be counted, and how many
  std::string unavailable;            // why no more can be counted on this machine; else empty
  bool interrupted = false;
};

// Of each problem that has a winner: counts its plan, the other finalists that ran without fault
// and lt_tuned's own algorithm, and keeps the figures in the store, problem by problem. What energy
// their launches take is measured before, by a process that counts nothing, and kept beside them;
// where that cannot be known they have none. What was counted before with today's kernel is not
// counted again; where that is everything, no bench is made. A machine that does not let counters
// be read, and a launch that cannot be counted, are no errors: the summary says why. Errors: the
// store's.
Result<CountSummary> count_finalists(const BenchFactory& make_bench, Store& store,
                                     const Environment& environment,
                                     std::span<const Problem> problems, const TunerOptions& options,
                                     const TuneCallback& callback = {});

}  // namespace gemmsmith
