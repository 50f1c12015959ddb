// operands.h -- the matrices that launches work on. Timing rotates through many sets laid side by
// side in one allocation, so that successive launches cannot find their operands in L2; verifying
// uses guarded ones, where a write outside D shows.
#pragma once

#include <cstdint>

#include "device/measurement.h"
#include "plan/launch_plan.h"
#include "problem/matrix_shape.h"
#include "problem/problem.h"

namespace gemmsmith {

// Where one operand lies in an allocation: a band of guard bytes, the matrix at exactly the
// alignment that the problem promises (no more: a kernel that relies on more must show), a band.
struct Region {
  std::int64_t band_start = 0;  // bytes, 256-aligned
  std::int64_t start = 0;       // of the matrix
  std::int64_t end = 0;         // past the last element
  std::int64_t band_end = 0;

  std::int64_t words() const { return (band_end - band_start) / 2; }  // 16-bit, bands included
  std::int64_t offset_words() const { return (start - band_start) / 2; }
};

// Places a matrix at or after byte `at`.
Region place(const MatrixShape& shape, int alignment, std::int64_t at, std::int64_t band_bytes);

// The offsets of one set of operands and the distance to the next.
struct OperandLayout {
  Region a, b, c, d;  // c is empty where beta is 0
  bool has_c = false;
  std::int64_t stride = 0;
  std::int64_t sets = 1;
  std::int64_t sets_to_cover = 1;  // that make a rotation larger than twice the L2; may exceed sets

  std::int64_t bytes() const { return stride * sets; }
  plan::Operands at(void* base, std::int64_t set) const;
};

constexpr std::int64_t kMaxOperandSets = 1024;

// Enough sets to exceed twice the L2, at most kMaxOperandSets.
OperandLayout timing_layout(const Problem& problem, std::int64_t l2_bytes);

// Cold where a rotation through `sets` sets exceeds twice the L2.
CacheState cache_state(const Problem& problem, std::int64_t l2_bytes, std::int64_t sets);

}  // namespace gemmsmith
