// translate.h -- from the C API's column-major problem to ours. A column-major m x n product is the
// row-major n x m product of the exchanged operands, so no data moves: our A is the caller's B, our
// B the caller's A, our m its n and our n its m. C and D keep their place and leading dimensions,
// and a bias for the caller's rows is one for our columns.
#pragma once

#include <gemmsmith/gemmsmith.h>

#include "problem/problem.h"
#include "vendor/blas_types.h"

namespace gemmsmith::runtime {

// Needs a problem that check_problem() accepted. alpha is 1, beta 0 and the alignment 256: those
// come with a call's values and pointers.
Problem to_row_major(const gemmsmithProblem_t& problem);

// The bias.
vendor::Extras extras_of(const gemmsmithProblem_t& problem);

// The largest power of two up to 256 that divides the address.
int alignment_of(const void* pointer);

// An IEEE half as a float, exactly.
float half_to_float(std::uint16_t half);

}  // namespace gemmsmith::runtime
