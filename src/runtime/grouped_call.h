// grouped_call.h -- the argument rules of gemmsmithGroupedMatmul, beyond those of one product.
#pragma once

#include "runtime/arguments.h"

namespace gemmsmith::runtime {

// Checks everything that the host can know: where the groups end lies on the device. kBadInput, or
// kUnsupported for what no grouped kernel computes. Pointers are not looked at where D has no
// elements.
Result<Call> check_grouped_call(const gemmsmithProblem_t* problem, const MatmulArguments& arguments,
                                const std::int32_t* column_ends);

}  // namespace gemmsmith::runtime
