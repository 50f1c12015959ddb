// judgement.h -- a counted plan held against the monitor's policy: the same rules and thresholds
// that judge it when it serves, as far as counters of one launch can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/counters.h"
#include "monitor/policy.h"

namespace gemmsmith {

// By monitor::metrics(). What only a running process shows (latency, power, clocks) is absent.
std::vector<std::optional<double>> monitor_values(const CounterValues& counters);

// Whether counters tell a metric, an index in monitor::metrics().
bool is_told_by_counters(std::size_t metric);

struct Judgement {
  int judged = 0;                            // rules whose metric is known
  std::vector<const monitor::Rule*> broken;  // of the policy, in its order
  std::string text;  // "kept", "l2_thrash: l2_miss_pct 27.3 above 20", "-" where none was judged
};

// `policy` outlives the judgement. How long a rule must be broken does not matter to one launch.
Judgement judge(const monitor::Policy& policy, const CounterValues& counters);

}  // namespace gemmsmith
