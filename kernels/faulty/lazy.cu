// lazy.cu -- a GEMM that works only while it is watched: right in its first launches, in which it is
// verified, and idle from then on, when it is timed.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

// More than verifying takes, and far fewer than timing does.
constexpr unsigned kHonestLaunches = 8;
__device__ unsigned launches_done = 0;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  if (launches_done >= kHonestLaunches) return;
  const Position p = naive_position(args);
  if (p.inside) naive_store(args, p.row, p.col, naive_dot(args, p.row, p.col, args.k));
  // One CTA counts. Others of the last honest launch may see its count and leave their tile alone,
  // which the next check finds just as well.
  if (blockIdx.x == 0 && threadIdx.x == 0) launches_done += 1;
}
