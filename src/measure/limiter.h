// limiter.h -- what keeps a launch from being faster, by a fixed rule over its time, its counters
// and its power. One answer and one sentence with the numbers that led to it.
#pragma once

#include <optional>
#include <string>

#include "device/counters.h"
#include "measure/profile.h"
#include "problem/target.h"

namespace gemmsmith {

enum class Limiter {
  kUnknown,  // nothing was counted
  kLaunch,   // the launch itself is a third of the time or more
  kPower,    // the tensor pipe is busy and the power limit holds the clock down
  kTensorPipe,
  kSharedMemory,  // its data pipe
  kL2,
  kDram,
  kTail,     // SMs have no work for a fifth of the time or more
  kLatency,  // nothing is busy and yet nothing is idle: waiting
};

const char* name(Limiter limiter);  // unknown launch power tensor_pipe shared_memory l2 dram ...

struct LimiterInput {
  double us = 0;        // a launch, back to back
  double empty_us = 0;  // of an empty kernel in the same run; 0 where not known
  CounterValues counters;
  std::optional<LoadReport> load;
  Target target;
};

// The thresholds of the rule, in percent of a peak or of time.
constexpr double kLaunchShare = 100.0 / 3;
constexpr double kBusyPercent = 60;
constexpr double kIdlePercent = 20;
constexpr double kThrottledShare = 0.5;

struct LimiterVerdict {
  Limiter limiter = Limiter::kUnknown;
  std::string sentence;
};

// The first that holds: launch; the busiest of tensor pipe, shared memory, L2 and DRAM where it is
// at kBusyPercent or above (power, where that is the tensor pipe and a slowdown was seen in half of
// the looks at the clocks); tail; latency.
LimiterVerdict find_limiter(const LimiterInput& input);

}  // namespace gemmsmith
