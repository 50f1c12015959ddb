#include "problem/matrix_shape.h"

namespace gemmsmith {

namespace {

MatrixShape of_batch(const Problem& p, MatrixShape shape, std::int64_t stride) {
  if (!p.is_batched()) return shape;
  shape.batch = p.batch;
  shape.stride = stride;
  return shape;
}

MatrixShape output(const Problem& p, std::int64_t ld, std::int64_t stride) {
  MatrixShape one = {p.m, p.n, ld};
  one.element_bytes = size_bytes(p.output_type());
  return of_batch(p, one, stride);
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
MatrixShape stored_c(const Problem& p) { return output(p, p.ldc, p.stride_c); }
MatrixShape stored_d(const Problem& p) { return output(p, p.ldd, p.stride_d); }

}  // namespace gemmsmith
