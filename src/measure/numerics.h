// numerics.h -- what results must be: the rounding of element types, the error that a correct
// product may have, and the integers that expose a narrow accumulator. Pure host arithmetic.
#pragma once

#include <cstdint>

#include "problem/problem.h"

namespace gemmsmith {

// The nearest value of the type, ties to even, infinity above its range.
double round_to_type(double value, DataType type);

// Unit roundoff: half the distance from 1 to the next value of the type.
double unit_roundoff(DataType type);

// One element of the exact product and what its bound needs.
struct ExactElement {
  double sum = 0;        // of A(i, l) * B(l, j), in FP64
  double magnitude = 0;  // of |A(i, l) * B(l, j)|
  double c = 0;          // C(i, j); 0 where beta is 0
};

// alpha * sum + beta * c.
double exact_value(const Problem& problem, const ExactElement& element);

// How far a correct kernel's element may be from exact_value: rounding of the output plus
// gamma_k * (|alpha| |A||B| + |beta| |C|), gamma_k = k u / (1 - k u), u of the accumulator (Higham,
// Accuracy and Stability of Numerical Algorithms, 3.5). Tensor cores truncate where they align the
// products of one step, so u is the whole distance to the next value.
double error_bound(const Problem& problem, const ExactElement& element);

// A range of integers for the operands of an exact check.
struct IntegerRange {
  int low = -1;
  int high = 1;
};

// Products of these sum up to about 8192: every f32 sum stays exact, so the result is known to the
// bit, but an f16 accumulator above 2048 drops the odd ones. For f16 accumulation, and where k is
// so large that even zeros and ones would overflow, -1..1: sums stay near 0.
IntegerRange probe_range(const Problem& problem);

// alpha and beta scale integers without rounding (multiples of 1/8 up to 8), so that an exact
// result can be expected.
bool scales_exactly(const Problem& problem);

}  // namespace gemmsmith
