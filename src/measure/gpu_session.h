// gpu_session.h -- what measuring keeps of a GPU across problems: context, stream, harness kernels,
// vendor handles, workspace, loaded kernels and the operands' memory.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cuda.h"
#include "device/nvml.h"
#include "measure/bench.h"
#include "measure/graph_timer.h"
#include "measure/harness_kernels.h"
#include "measure/phase_clock.h"
#include "measure/verifier.h"
#include "vendor/cublas_gemm.h"
#include "vendor/lt_space.h"

namespace gemmsmith {

// Loaded cubins by hash, the least recently used unloaded beyond a number.
class ModuleCache {
 public:
  explicit ModuleCache(std::size_t capacity) : capacity_(capacity) {}

  bool contains(const std::string& hash) const { return entries_.contains(hash); }
  Result<void> add(const Driver& driver, const std::string& hash, std::string_view cubin);
  // The kernel's entry `gemm`. kInternal where it is not loaded.
  Result<CUfunction> function(const std::string& hash);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Module module;
    CUfunction function = nullptr;
    std::list<std::string>::iterator order;
  };
  std::size_t capacity_;
  std::list<std::string> order_;  // most recently used first
  std::unordered_map<std::string, Entry> entries_;
};

struct GpuSession {
  static Result<std::unique_ptr<GpuSession>> open(int ordinal, const BenchSettings& settings,
                                                  const HarnessCubins& cubins, std::string run);

  const Driver& driver() const { return context.driver(); }
  const Target& target() const { return info.target; }
  vendor::Workspace vendor_workspace() const {
    return {workspace.pointer(), static_cast<std::int64_t>(workspace.size())};
  }
  // What kernels that add up through memory share, one launch after the other. Errors:
  // kUnsupported where the workspace is too small for the plan.
  Result<plan::Scratch> scratch_for(const plan::LaunchPlan& plan) const;
  // Grows the operands' memory; what was there is lost.
  Result<void> need_operands(std::int64_t bytes);
  // True once an error has made the context unusable: every later call would fail.
  bool is_broken() const { return !context.synchronize().has_value(); }
  void sample_clocks() { clocks.push_back(monitor->sample()); }

  CudaContext context;
  BenchSettings settings;
  std::string run;
  DeviceInfo info;
  Stream stream;
  HarnessKernels kernels;
  std::optional<GraphTimer> timer;
  std::optional<Verifier> verifier;
  std::shared_ptr<const vendor::LtHandle> lt;
  std::shared_ptr<vendor::CublasHandle> cublas;
  std::unique_ptr<vendor::LtSpace> lt_space;
  DeviceBuffer workspace;
  DeviceBuffer counters;
  DeviceBuffer operands;
  DeviceBuffer flush;  // read to empty L2; allocated when first needed
  DeviceBuffer flush_report;
  ModuleCache modules;
  std::optional<GpuMonitor> monitor;
  std::vector<GpuSample> clocks;
  PhaseClock phases;
  double empty_us = 0;  // period of an empty kernel inside a graph

 private:
  explicit GpuSession(CudaContext c) : context(std::move(c)), modules(kLoadedKernels) {}
  Result<void> time_empty_kernel();
  // A cubin is some 50 kB on the device; the whole catalogue of a run fits.
  static constexpr std::size_t kLoadedKernels = 2048;
  static constexpr int kEmptyLaunches = 1000;
  static constexpr std::size_t kEmptyReplays = 21;
};

}  // namespace gemmsmith
