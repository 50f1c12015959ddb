// counted_configs.h -- what is known of the configs of one problem that were measured: the counters
// of those whose launches were counted beside the times that other runs took.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "problem/target.h"
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
  std::optional<double> workspace_bytes;

  bool is_counted() const { return counted.passes > 0; }
};

// Of one problem and environment: each config once, by its newest counters, with the newest final
// time there is, else the newest of screening. The plan first, then by time; what was not timed
// last.
std::vector<CountedConfig> counted_configs(std::span<const StoredCounters> counters,
                                           std::span<const StoredMeasurement> rows,
                                           const std::optional<Winner>& winner);

// The same of every config that was timed without fault: the others have no counters.
std::vector<CountedConfig> measured_configs(std::span<const StoredCounters> counters,
                                            std::span<const StoredMeasurement> rows,
                                            const std::optional<Winner>& winner);

// How much workspace a launch takes: of ours what its kernel needs, of cuBLASLt's what its splits
// may take of `vendor_limit`, and none without splits. Nothing where the config cannot be launched.
std::optional<double> workspace_of(const StoredCounters& config, const Target& target,
                                   std::int64_t vendor_limit);

}  // namespace gemmsmith::report
