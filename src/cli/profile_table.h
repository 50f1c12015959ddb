// profile_table.h -- profiles side by side: a block a problem for people, a row a kernel for
// machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/table.h"
#include "measure/limiter.h"
#include "measure/profile.h"

namespace gemmsmith::cli {

// One kernel on one problem: its time from one process, its counters from another.
struct Profile {
  Problem problem;
  std::string who;  // "ours", "lt_tuned"; two of ours: "ours 2"
  Measurement timed;
  std::optional<LoadReport> load;
  std::optional<CounterReport> counted;
  LimiterVerdict verdict;
};

// `profiles` of one problem lie next to each other.
std::string render_profiles(const std::vector<Profile>& profiles, OutputFormat format);

}  // namespace gemmsmith::cli
