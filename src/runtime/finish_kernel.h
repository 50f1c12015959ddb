// finish_kernel.h -- D = activation(D + bias) on the device, in place: the epilogues that neither a
// kernel of the plan table nor cuBLASLt applies while it has the sums. D was rounded to its type
// before.
#pragma once

#include "device/cuda.h"
#include "problem/problem.h"
#include "vendor/blas_types.h"

namespace gemmsmith::runtime {

class FinishKernel {
 public:
  // In the current context. The driver translates the kernel's PTX, once a machine (it caches).
  static Result<FinishKernel> load(const Driver& driver);

  // Enqueues it. Allocates nothing. Uses m, n, batch, ldd, stride_d, type, has_bias and activation
  // and output type of the problem, which must not be empty, and the bias of the extras.
  Result<void> run(const Driver& driver, const Problem& problem, const vendor::Extras& extras,
                   void* d, CUstream stream) const;

 private:
  Module module_;
  CUfunction function_ = nullptr;
};

// The kernel's PTX; exposed for the test that assembles it.
const char* finish_kernel_ptx();

}  // namespace gemmsmith::runtime
