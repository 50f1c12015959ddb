// cuda_bench.h -- a Bench on the GPU of this very process. It runs inside the worker (worker.h),
// where a candidate that hangs or faults costs a process and not the tuner; device tests use it
// directly.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "measure/problem_bench.h"

namespace gemmsmith {

class CudaBench {
 public:
  // `run` names this process's measurements.
  static Result<std::unique_ptr<CudaBench>> open(int ordinal, const BenchSettings& settings,
                                                 const HarnessCubins& cubins, std::string run);

  const DeviceInfo& device() const { return session_->info; }
  double empty_kernel_us() const { return session_->empty_us; }
  bool is_broken() const { return session_->is_broken(); }

  bool has_kernel(const std::string& hash) const { return session_->modules.contains(hash); }
  Result<void> add_kernel(const std::string& hash, std::string_view cubin) {
    return session_->modules.add(session_->driver(), hash, cubin);
  }

  // The measurements of one problem; kept until another problem is asked for.
  Result<ProblemBench*> bench(const Problem& problem);

  // The same without anything timed, for counting.
  Result<ProblemBench*> untimed_bench(const Problem& problem);
  // Opened when first asked for; from then on nothing should be timed here.
  Result<RangeProfiler*> profiler();

  // JSON object: clocks, power, throttling, phases.
  std::string conditions() const;

 private:
  explicit CudaBench(std::unique_ptr<GpuSession> session) : session_(std::move(session)) {}
  std::unique_ptr<GpuSession> session_;
  std::unique_ptr<ProblemBench> current_;
  std::unique_ptr<ProblemBench> untimed_;
  std::optional<RangeProfiler> profiler_;
  long problems_ = 0;
};

}  // namespace gemmsmith
