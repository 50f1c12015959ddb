// launch.h -- one way of computing a problem, as timing and verifying see it: something that puts
// one launch on a stream. Our kernels, cuBLASLt algorithms and cuBLAS itself are all launches, so
// the harness cannot treat them differently.
#pragma once

#include "base/result.h"
#include "device/driver.h"
#include "plan/launch_plan.h"

namespace gemmsmith {

class Launch {
 public:
  virtual ~Launch() = default;
  // Enqueues only: no synchronisation, no allocation on the device, legal during capture.
  virtual Result<void> enqueue(const plan::Operands& operands, CUstream stream) = 0;
};

// One of our kernels. The functions' modules must outlive it.
class KernelLaunch : public Launch {
 public:
  KernelLaunch(const Driver& driver, plan::LaunchPlan plan, plan::Functions functions,
               plan::Scratch scratch)
      : driver_(driver), plan_(plan), functions_(functions), scratch_(scratch) {}
  Result<void> enqueue(const plan::Operands& operands, CUstream stream) override;

 private:
  const Driver& driver_;
  plan::LaunchPlan plan_;
  plan::Functions functions_;
  plan::Scratch scratch_;
};

}  // namespace gemmsmith
