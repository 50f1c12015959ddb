#include "measure/cuda_bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/statistics.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

// Least, middle and most of what the samples offer.
json spread(const std::vector<GpuSample>& samples, std::optional<double> GpuSample::*figure) {
  std::vector<double> values;
  for (const GpuSample& sample : samples)
    if (sample.*figure) values.push_back(*(sample.*figure));
  if (values.empty()) return nullptr;
  return {{"min", quantile(values, 0)}, {"median", median(values)}, {"max", quantile(values, 1)}};
}

json clocks_json(const std::vector<GpuSample>& samples) {
  json clocks = {{"samples", samples.size()},
                 {"sm_clock_mhz", spread(samples, &GpuSample::sm_clock_mhz)},
                 {"memory_clock_mhz", spread(samples, &GpuSample::memory_clock_mhz)},
                 {"power_w", spread(samples, &GpuSample::power_w)},
                 {"power_limit_w", spread(samples, &GpuSample::power_limit_w)},
                 {"temperature_c", spread(samples, &GpuSample::temperature_c)}};
  std::map<std::string, long> throttled;
  for (const GpuSample& sample : samples) {
    if (!sample.unavailable.empty()) clocks["unavailable"] = sample.unavailable;
    if (sample.throttle_reasons) ++throttled[throttle_text(*sample.throttle_reasons)];
  }
  clocks["throttle_samples"] = throttled;
  return clocks;
}

// The most processes with a context on this GPU besides this one; null where NVML does not say.
json most_others(const std::vector<GpuSample>& samples) {
  std::optional<double> most;
  for (const GpuSample& sample : samples)
    if (sample.compute_processes) most = std::max(most.value_or(0), *sample.compute_processes - 1);
  if (!most) return nullptr;
  return static_cast<std::int64_t>(*most);
}

}  // namespace

Result<std::unique_ptr<CudaBench>> CudaBench::open(int ordinal, const BenchSettings& settings,
                                                   const HarnessCubins& cubins, std::string run) {
  GEMMSMITH_TRY(std::unique_ptr<GpuSession> session,
                GpuSession::open(ordinal, settings, cubins, std::move(run)));
  return std::unique_ptr<CudaBench>(new CudaBench(std::move(session)));
}

Result<ProblemBench*> CudaBench::bench(const Problem& problem) {
  if (current_ != nullptr && current_->problem() == problem) return current_.get();
  current_.reset();
  untimed_.reset();
  GEMMSMITH_TRY(current_, ProblemBench::create(*session_, problem));
  ++problems_;
  return current_.get();
}

Result<ProblemBench*> CudaBench::untimed_bench(const Problem& problem) {
  if (untimed_ != nullptr && untimed_->problem() == problem) return untimed_.get();
  current_.reset();  // the operands' memory is shared
  untimed_.reset();
  GEMMSMITH_TRY(untimed_, ProblemBench::create_untimed(*session_, problem));
  ++problems_;
  return untimed_.get();
}

Result<RangeProfiler*> CudaBench::profiler() {
  if (!profiler_) {
    GEMMSMITH_TRY(RangeProfiler opened, RangeProfiler::open(session_->context));
    profiler_ = std::move(opened);
  }
  return &*profiler_;
}

std::string CudaBench::conditions() const {
  json phases = json::object();
  for (const auto& [phase, total] : session_->phases.totals())
    phases[phase] = {{"seconds", total.seconds}, {"visits", total.visits}};
  const json conditions = {{"run", session_->run},
                           {"problems", problems_},
                           {"empty_kernel_us", session_->empty_us},
                           {"loaded_kernels", session_->modules.size()},
                           {"clocks", clocks_json(session_->clocks)},
                           {"other_compute_processes", most_others(session_->clocks)},
                           {"phases", phases}};
  return conditions.dump();
}

}  // namespace gemmsmith
