// packing.h -- operands that are copied into a workspace first, because a kernel's 16-byte loads
// cannot read them where they are, or read them slowly there (kernels/pack.cu).
#pragma once

#include <cstdint>

#include "problem/matrix_shape.h"
#include "problem/problem.h"

namespace gemmsmith {

// Values of the families' parameter `pack`: a bit an operand.
constexpr int kPackA = 1;
constexpr int kPackB = 2;

// What TMA and 16-byte cp.async need: base on 16 bytes, rows, and matrices of a batch, whole 16
// bytes apart.
bool is_readable(const MatrixShape& operand, int alignment);
// Every row starts on 128 bytes. Where not, each 128 bytes that a kernel loads are parts of two
// cache lines, which takes L2 twice as long (docs/experiments.md, 13).
bool has_whole_cache_lines(const MatrixShape& operand, int alignment);

// The operands that must be packed for any kernel of ours to read them; and with those the ones
// that may be read faster then.
int needed_pack(const Problem& problem);
int useful_pack(const Problem& problem);

// The operand's copy: its rows apart by whole cache lines.
MatrixShape packed(const MatrixShape& operand);
// Of all copies that `pack` asks for: A's, then B's.
std::int64_t packed_bytes(const Problem& problem, int pack);

}  // namespace gemmsmith
