// scale_kernel.h -- D = beta * C on the device: what a product is whose k or alpha is 0. cuBLASLt
// refuses k = 0, and with alpha = 0 it would still let NaNs of A and B through.
#pragma once

#include "device/cuda.h"
#include "problem/problem.h"
#include "vendor/blas_types.h"

namespace gemmsmith::runtime {

class ScaleKernel {
 public:
  // In the current context. The driver translates the kernel's PTX, once a machine (it caches).
  static Result<ScaleKernel> load(const Driver& driver);

  // Enqueues it. Allocates nothing. Uses m, n, ldc, ldd, type and accumulator of the problem and
  // beta of the scalars.
  Result<void> run(const Driver& driver, const Problem& problem, const vendor::Operands& operands,
                   const vendor::Scalars& scalars, CUstream stream) const;

 private:
  Module module_;
  CUfunction function_ = nullptr;
};

// The kernel's PTX; exposed for the test that assembles it.
const char* scale_kernel_ptx();

}  // namespace gemmsmith::runtime
