// matrix_shape.h -- the matrices of a problem as they lie in memory.
#pragma once

#include <cstdint>

#include "problem/problem.h"

namespace gemmsmith {

// One stored matrix: rows x cols elements at ld; or a batch of them.
struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t batch = 1;
  std::int64_t stride = 0;  // elements from one matrix to the next; 0: the batch shares one
  int element_bytes = 2;

  // Elements from the first to the last one, padding between rows and matrices included.
  std::int64_t extent() const {
    return rows == 0 || batch == 0 ? 0 : (batch - 1) * stride + matrix_extent();
  }
  // Of one matrix.
  std::int64_t matrix_extent() const { return rows == 0 ? 0 : (rows - 1) * ld + cols; }
  // Matrices that differ in memory.
  std::int64_t distinct() const { return stride == 0 && batch > 1 ? 1 : batch; }

  // Each matrix begins behind the one before.
  bool matrices_follow() const { return batch <= 1 || stride >= matrix_extent(); }
  // The rows of all matrices lie side by side, as those of attention's heads.
  bool matrices_interleave() const {
    return batch <= 1 || (stride >= cols && ld >= (batch - 1) * stride + cols);
  }
  // No element belongs to two matrices. (No other arrangement is known to be free of overlap.)
  bool matrices_are_apart() const { return matrices_follow() || matrices_interleave(); }
};

MatrixShape stored_a(const Problem& problem);  // as laid out: k contiguous or m contiguous
MatrixShape stored_b(const Problem& problem);
MatrixShape stored_c(const Problem& problem);
MatrixShape stored_d(const Problem& problem);

}  // namespace gemmsmith
