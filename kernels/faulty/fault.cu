// fault.cu -- a GEMM that also stores through a wild pointer: an illegal-address error that poisons
// the whole CUDA context.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (!p.inside) return;
  naive_store(args, p.row, p.col, naive_dot(args, p.row, p.col, args.k));
  // 64 TiB past D: beyond anything that can be mapped beside it.
  if (p.row == 0 && p.col == 0) static_cast<volatile u16*>(args.d)[1ll << 45] = 0;
}
