// device_state.h -- what the runtime keeps for one CUDA context: the device's numbers, cuBLASLt and
// the kernels for scaling and finishing. Made once for each context, outside of any capture, then
// only read.
#pragma once

#include <memory>

#include "device/cuda.h"
#include "runtime/arguments.h"
#include "runtime/finish_kernel.h"
#include "runtime/scale_kernel.h"
#include "runtime/scratch_pool.h"
#include "runtime/watched_shape.h"
#include "vendor/lt_fallback.h"

namespace gemmsmith::runtime {

// Whether nothing may be loaded, allocated or waited for now because the stream captures. Where the
// driver cannot tell (the default stream while another one captures), it counts as yes.
bool is_capturing(const Driver& driver, CUstream stream);

class DeviceState {
 public:
  // For the current context. A machine without cuBLASLt still gets a state: plans need none.
  // Errors: kEnvironment, kDevice.
  static Result<std::unique_ptr<DeviceState>> create(const Driver& driver, CUcontext context);

  const Driver& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  const DeviceInfo& info() const { return info_; }

  // Null where cuBLASLt is missing; lt_error() says why.
  const std::shared_ptr<const vendor::LtHandle>& lt() const { return lt_; }
  const Error& lt_error() const { return lt_error_; }
  // For kernels that add up through memory.
  ScratchPool& scratch() { return scratch_; }
  // What a monitor sees of it.
  WatchedShapes& watched() { return watched_; }

  // Enqueues by cuBLASLt's heuristic choice; an activation that the library lacks follows as a
  // kernel of its own.
  Result<void> run_fallback(const Problem& problem, const vendor::Extras& extras,
                            const vendor::Operands& operands, const vendor::Scalars& scalars,
                            vendor::WorkspaceSource& workspaces, CUstream stream);
  // Enqueues D = beta * C, then its epilogue.
  Result<void> run_scaling(const Call& call) const;

 private:
  DeviceState(const Driver& driver, CUcontext context)
      : driver_(driver), context_(context), scratch_(driver), watched_(driver) {}
  void open_lt();
  void load_own_kernels();
  // Errors where they did not load: `work` says what for.
  Result<void> check_own_kernels(const char* work, const Problem& problem) const;
  Result<void> scale(const Call& call) const;

  const Driver& driver_;
  CUcontext context_;
  DeviceInfo info_;
  std::shared_ptr<const vendor::LtHandle> lt_;
  Error lt_error_;
  std::unique_ptr<vendor::LtFallback> fallback_;
  ScratchPool scratch_;
  WatchedShapes watched_;
  ScaleKernel scale_kernel_;
  FinishKernel finish_kernel_;
  Error own_error_;
  bool has_own_kernels_ = false;
};

}  // namespace gemmsmith::runtime
