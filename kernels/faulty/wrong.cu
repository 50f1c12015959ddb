// wrong.cu -- a GEMM that drops the last element of k. Small sums hide it from a loose tolerance;
// the exact-integer check must not be fooled.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (p.inside) naive_store(args, p.row, p.col, naive_dot(args, p.row, p.col, args.k - 1));
}
