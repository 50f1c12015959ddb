// kernel_front.h -- how much speed how few kernels bring: the front between what a user ships
// (distinct compiled kernels) and what it gains over tuned cuBLASLt.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/measurement.h"

namespace gemmsmith::report {

struct FrontPoint {
  int kernels = 0;
  double speed = 1;   // geometric mean over all shapes, lt_tuned serving where no kernel is faster
  std::string added;  // the kernel that this point has and the one before it has not
};

// Adds the kernel that gains most, one after another, up to `most` or until nothing is gained: for
// each number the best set that a greedy choice finds (within 1 - 1/e of the best there is, as the
// gain is submodular). A kernel serves a shape by its best launch-time variant, back to back.
// Screened figures count too, so a point is what a table could promise, not what a re-test found.
std::vector<FrontPoint> kernel_front(std::span<const Measurement> rows, int most);

}  // namespace gemmsmith::report
