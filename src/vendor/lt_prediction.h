// lt_prediction.h -- how long tuned cuBLASLt would take on a card that is not here.
#pragma once

#include "problem/problem.h"
#include "problem/target.h"

namespace gemmsmith::vendor {

// Microseconds of the library's best plain kernel, launched back to back. Known on Hopper: on the
// grid that was measured on an H200, 95 % of the times are within -20 and +30 % of it
// (docs/model_device.md). On Ampere nobody compared it with anything.
double predicted_lt_us(const Problem& problem, const Target& target);

}  // namespace gemmsmith::vendor
