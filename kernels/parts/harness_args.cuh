// harness_args.cuh -- what the utility kernels are told of matrices. Included by the kernels and by
// src/measure (host), so it uses built-in types only and both see one layout.
#pragma once

namespace gemmsmith_kernels {

// A batch of matrices: element (r, c) of matrix i at i * stride + r * ld + c.
struct Matrices {
  long long rows;
  long long cols;
  long long ld;
  long long batch;
  long long stride;
};

// An element of a batch of matrices.
struct Position {
  int matrix;
  int row;
  int col;
};

// Distances of an operand's elements, whatever its layout: of A or B.
struct OperandStrides {
  long long row;
  long long col;
  long long matrix;
};

}  // namespace gemmsmith_kernels
