// wrong_last_matrix.cu -- batches of products of which only the last element of the last matrix is
// wrong: it drops the last element of k. A verifier that looks at the first matrix alone is fooled.

#include "parts/naive_gemm.cuh"
#include "parts/tile_order.cuh"

using namespace gemmsmith_kernels;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (!p.inside) return;
  const int matrix = naive_matrix(args);
  const GemmArgs own = matrix_args<true, kOutputType>(args, matrix);
  const bool last = matrix == args.batch - 1 && p.row == args.m - 1 && p.col == args.n - 1;
  naive_store(own, p.row, p.col, naive_dot(own, p.row, p.col, last ? args.k - 1 : args.k));
}
