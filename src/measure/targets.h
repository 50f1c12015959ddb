// targets.h -- what a good kernel's counters look like, and which of it a kernel meets.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "device/counters.h"

namespace gemmsmith {

enum class Bound { kAbove, kBelow };

struct CounterTarget {
  const char* name;  // "SM throughput"
  const char* key;   // "sm_throughput": for machines
  const char* unit;  // "%" or ""
  Bound bound;
  double threshold;
  std::optional<double> (*figure)(const CounterValues&);
};

// SM throughput > 85 % of peak, shared-memory bank conflicts < 5 %, L2 hits > 90 %, device memory
// < 80 % of peak, occupancy > 50 %, IPC > 2.
const std::array<CounterTarget, 6>& counter_targets();

// "> 85 %".
std::string rule_text(const CounterTarget& target);

// Nothing where the figure is not known.
std::optional<bool> is_met(const CounterTarget& target, const CounterValues& values);

}  // namespace gemmsmith
