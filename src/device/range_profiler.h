// range_profiler.h -- hardware counters of a launch's kernels, read in this process through CUPTI.
// Kernels are counted one by one, as ncu counts them, so the host's pauses between kernels are in
// no figure. A process that counts does not time: the profiler slows launches down.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "device/metric_set.h"

namespace gemmsmith {

class RangeProfiler {
 public:
  // At most so many kernels in one collection: what empties L2, twice, an empty one, packing, the
  // product, a reduction; cuBLAS has more.
  static constexpr std::size_t kMostKernels = 19;

  // Errors (kEnvironment): no CUPTI, a device that shows no counters. The context must outlive it.
  static Result<RangeProfiler> open(const CudaContext& context);
  RangeProfiler(RangeProfiler&&) noexcept;
  RangeProfiler& operator=(RangeProfiler&&) noexcept;
  ~RangeProfiler();

  // CUPTI's name of the device: "GH100".
  const std::string& chip() const;
  // With what this device can count.
  Result<MetricSet> metric_set(std::vector<std::string> metrics) const;

  // One pass after another: `prepare` (memory and caches as they shall be; not counted), then
  // `launch`, which only enqueues. For each kernel of the launch, in order, the set's values.
  // Errors (kEnvironment): no permission, another profiler that holds the counters.
  using Step = std::function<Result<void>()>;
  Result<std::vector<std::vector<double>>> collect(const MetricSet& set, const Step& prepare,
                                                   const Step& launch);

 private:
  struct State;
  explicit RangeProfiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
