// hang.cu -- a GEMM that waits for a shared-memory flag nobody sets, as a lost barrier arrival
// does. Only a watchdog outside the process ends it.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  __shared__ volatile int arrived;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  while (arrived == 0) {
  }
  const Position p = naive_position(args);
  if (p.inside) naive_store(args, p.row, p.col, naive_dot(args, p.row, p.col, args.k));
}
