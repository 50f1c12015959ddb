// counted_configs.h -- what is known of the configs of one problem whose launches were counted: the
// counters beside the times that other runs took.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace gemmsmith::report {

// plan: what serves the problem. lt_tuned: the tuned library's own choice. rival: another finalist.
enum class Role { kPlan, kRival, kLtTuned };
const char* name(Role role);  // plan rival lt_tuned

struct CountedConfig {
  Role role = Role::kRival;
  StoredCounters counted;
  std::optional<double> us;     // back to back
  std::optional<double> ratio;  // above 1: faster than lt_tuned
};

// Of one problem and environment: each config once, by its newest counters, with the newest final
// time there is, else the newest of screening. The plan first, then by time; what was not timed
// last.
std::vector<CountedConfig> counted_configs(std::span<const StoredCounters> counters,
                                           std::span<const StoredMeasurement> rows,
                                           const std::optional<Winner>& winner);

}  // namespace gemmsmith::report
