// matrix_shape.h -- the matrices of a problem as they lie in memory.
#pragma once

#include <cstdint>

#include "problem/problem.h"

namespace gemmsmith {

// One stored matrix: rows x cols elements at ld.
struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;

  // Elements from the first to the last one, padding between rows included.
  std::int64_t extent() const { return rows == 0 ? 0 : (rows - 1) * ld + cols; }
};

MatrixShape stored_a(const Problem& problem);  // as laid out: k contiguous or m contiguous
MatrixShape stored_b(const Problem& problem);
MatrixShape stored_c(const Problem& problem);
MatrixShape stored_d(const Problem& problem);

}  // namespace gemmsmith
