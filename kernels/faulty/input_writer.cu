// input_writer.cu -- a GEMM whose result is right but which changes A: the last CTA to finish flips
// the lowest bit of A's first element. Only comparing the inputs with a copy shows it.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

namespace {

__device__ u32 finished_ctas = 0;

}  // namespace

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (p.inside) naive_store(args, p.row, p.col, naive_dot(args, p.row, p.col, args.k));
  __syncthreads();
  // atomicInc wraps to 0 at the last CTA, so the next launch counts afresh.
  if (threadIdx.x == 0 && atomicInc(&finished_ctas, gridDim.x - 1) == gridDim.x - 1) {
    u16* first = static_cast<u16*>(const_cast<void*>(args.a));
    *first = static_cast<u16>(*first ^ 1u);
  }
}
