#include "problem/matrix_shape.h"

namespace gemmsmith {

namespace {

MatrixShape of_batch(const Problem& p, MatrixShape shape, std::int64_t stride) {
  if (!p.is_batched()) return shape;
  shape.batch = p.batch;
  shape.stride = stride;
  return shape;
}

}  // namespace

MatrixShape stored_a(const Problem& p) {
  const MatrixShape one =
      a_is_k_contiguous(p.layout) ? MatrixShape{p.m, p.k, p.lda} : MatrixShape{p.k, p.m, p.lda};
  return of_batch(p, one, p.stride_a);
}
MatrixShape stored_b(const Problem& p) {
  MatrixShape one =
      b_is_k_contiguous(p.layout) ? MatrixShape{p.n, p.k, p.ldb} : MatrixShape{p.k, p.n, p.ldb};
  if (p.grouped) {
    one.batch = p.batch;
    one.stride = p.stride_b;
    return one;
  }
  return of_batch(p, one, p.stride_b);
}
MatrixShape stored_c(const Problem& p) { return of_batch(p, {p.m, p.n, p.ldc}, p.stride_c); }
MatrixShape stored_d(const Problem& p) { return of_batch(p, {p.m, p.n, p.ldd}, p.stride_d); }

}  // namespace gemmsmith
