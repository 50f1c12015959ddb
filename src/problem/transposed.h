// transposed.h -- a product seen from its other side: D^T = B^T A^T is as much a product as D = A
// B, and a kernel whose tiles fit the one badly may fit the other.
#pragma once

#include "problem/problem.h"

namespace gemmsmith {

// The problem whose A is this one's B^T, whose B is this one's A^T, and whose m and n are this
// one's n and m. Nothing moves in memory: C and D keep their leading dimensions and strides and
// have their columns contiguous then, element (i, j) at j * ld + i. Twice is the problem itself.
Problem transposed(const Problem& problem);
Layout transposed(Layout layout);
Signature transposed(const Signature& signature);

}  // namespace gemmsmith
