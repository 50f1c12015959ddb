#include "measure/launch.h"

namespace gemmsmith {

Result<void> KernelLaunch::enqueue(const plan::Operands& operands, CUstream stream) {
  GEMMSMITH_TRY(plan::BoundLaunch bound, plan::bind(driver_, plan_, operands));
  GEMMSMITH_CHECK(plan::use_scratch(driver_, plan_, bound, scratch_));
  return check(driver_, plan::launch(driver_, plan_, bound, functions_, stream),
               "launching a kernel");
}

}  // namespace gemmsmith
