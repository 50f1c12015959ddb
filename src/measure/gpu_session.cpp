#include "measure/gpu_session.h"

#include "base/statistics.h"

namespace gemmsmith {

Result<void> ModuleCache::add(const Driver& driver, const std::string& hash,
                              std::string_view cubin) {
  if (contains(hash)) return {};
  Entry entry;
  GEMMSMITH_TRY(entry.module, Module::load(driver, cubin, hash));
  GEMMSMITH_TRY(entry.function, entry.module.function("gemm"));
  order_.push_front(hash);
  entry.order = order_.begin();
  entries_.emplace(hash, std::move(entry));
  if (entries_.size() > capacity_) {
    entries_.erase(order_.back());
    order_.pop_back();
  }
  return {};
}

Result<CUfunction> ModuleCache::function(const std::string& hash) {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return fail(ErrorCode::kInternal, "kernel {} is not loaded", hash);
  order_.splice(order_.begin(), order_, found->second.order);
  return found->second.function;
}

Result<std::unique_ptr<GpuSession>> GpuSession::open(int ordinal, const BenchSettings& settings,
                                                     const HarnessCubins& cubins, std::string run) {
  GEMMSMITH_TRY(CudaContext context, CudaContext::open(ordinal));
  std::unique_ptr<GpuSession> session(new GpuSession(std::move(context)));
  const Driver& driver = session->driver();
  session->settings = settings;
  session->run = std::move(run);
  GEMMSMITH_TRY(session->info, query_device(driver, ordinal));
  GEMMSMITH_TRY(session->stream, Stream::create(driver));
  GEMMSMITH_TRY(session->kernels,
                HarnessKernels::load(driver, cubins, session->info.target.sm_count));
  GEMMSMITH_TRY(session->timer,
                GraphTimer::create(driver, session->kernels, session->stream.get()));
  GEMMSMITH_TRY(session->verifier,
                Verifier::create(driver, session->kernels, session->stream.get(), settings.seed));
  GEMMSMITH_TRY(const std::shared_ptr<const vendor::BlasLibrary> library,
                vendor::BlasLibrary::open());
  session->info.cublas_version = library->version();
  GEMMSMITH_TRY(session->lt, vendor::LtHandle::create(library));
  GEMMSMITH_TRY(session->cublas, vendor::CublasHandle::create(library));
  session->lt_space = std::make_unique<vendor::LtSpace>(session->lt);
  GEMMSMITH_TRY(session->workspace,
                DeviceBuffer::allocate(driver, static_cast<std::size_t>(settings.workspace_bytes)));
  GEMMSMITH_TRY(session->counters,
                DeviceBuffer::allocate(driver, plan::kMostCounters * sizeof(unsigned)));
  GEMMSMITH_CHECK(check(driver,
                        driver.MemsetD32Async(session->counters.address(), 0, plan::kMostCounters,
                                              session->stream.get()),
                        "clearing the counters of split-K"));
  session->monitor = GpuMonitor::open(session->info.uuid);
  GEMMSMITH_CHECK(session->time_empty_kernel());
  return session;
}

Result<plan::Scratch> GpuSession::scratch_for(const plan::LaunchPlan& plan) const {
  if (plan.workspace_bytes <= static_cast<std::int64_t>(workspace.size()))
    return plan::Scratch{workspace.pointer(), static_cast<unsigned*>(counters.pointer())};
  return fail(ErrorCode::kUnsupported,
              "the kernel needs {} bytes of workspace and has {}: raise workspace_mib",
              plan.workspace_bytes, workspace.size());
}

Result<void> GpuSession::need_operands(std::int64_t bytes) {
  if (static_cast<std::int64_t>(operands.size()) >= bytes) return {};
  operands = DeviceBuffer();
  GEMMSMITH_TRY(operands, DeviceBuffer::allocate(driver(), static_cast<std::size_t>(bytes)));
  return {};
}

Result<void> GpuSession::time_empty_kernel() {
  GEMMSMITH_TRY(const TimedGraph graph, timer->capture_empty(kEmptyLaunches));
  std::vector<const TimedGraph*> sequence(kEmptyReplays, &graph);
  GEMMSMITH_TRY(const std::vector<double> times, timer->replay(sequence));
  // The floor must not be above what any launch can reach: the quickest replay.
  empty_us = quantile(times, 0);
  return {};
}

}  // namespace gemmsmith
