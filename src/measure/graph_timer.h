// graph_timer.h -- GPU time of launches from replayed graphs. A graph holds many launches, each on
// the next operand set, so neither the host's cost nor a warm L2 is in the figure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda.h"
#include "measure/harness_kernels.h"
#include "measure/launch.h"
#include "measure/operands.h"

namespace gemmsmith {

// What one graph repeats: the launch alone, the launch followed by the foreign pass, or the foreign
// pass alone (to take its time out).
enum class Pattern { kLaunch, kLaunchThenForeign, kForeign };

struct TimedGraph {
  GraphExec exec;
  int launches = 0;
};

class GraphTimer {
 public:
  static Result<GraphTimer> create(const Driver& driver, const HarnessKernels& kernels,
                                   CUstream stream);

  // Launch i works on set (first + i) mod layout.sets. `launch` may be null for kForeign.
  Result<TimedGraph> capture(Launch* launch, Pattern pattern, void* base,
                             const OperandLayout& layout, std::int64_t first, int launches) const;
  // A graph of empty kernels: its period is part of every floor.
  Result<TimedGraph> capture_empty(int launches) const;

  // Replays the graphs one after another without a pause and gives each one's us a launch. An
  // untimed replay of the first goes ahead, so that the host stays in front of the GPU.
  Result<std::vector<double>> replay(std::span<const TimedGraph* const> graphs);

 private:
  GraphTimer(const Driver& driver, const HarnessKernels& kernels, CUstream stream)
      : driver_(&driver), kernels_(&kernels), stream_(stream) {}
  Result<void> need_events(std::size_t count);

  const Driver* driver_;
  const HarnessKernels* kernels_;
  CUstream stream_;
  DeviceBuffer foreign_;
  std::vector<Event> events_;
};

}  // namespace gemmsmith
