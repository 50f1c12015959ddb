#include "problem/matrix_shape.h"

namespace gemmsmith {

MatrixShape stored_a(const Problem& p) {
  return a_is_k_contiguous(p.layout) ? MatrixShape{p.m, p.k, p.lda} : MatrixShape{p.k, p.m, p.lda};
}
MatrixShape stored_b(const Problem& p) {
  return b_is_k_contiguous(p.layout) ? MatrixShape{p.n, p.k, p.ldb} : MatrixShape{p.k, p.n, p.ldb};
}
MatrixShape stored_c(const Problem& p) { return {p.m, p.n, p.ldc}; }
MatrixShape stored_d(const Problem& p) { return {p.m, p.n, p.ldd}; }

}  // namespace gemmsmith
