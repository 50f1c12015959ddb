// nondeterministic.cu -- a GEMM whose order of summation hangs on the clock. Exact on integers and
// within any bound on f32 sums, but two runs on random data differ in some elements.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (!p.inside) return;
  // Bit 5: the lower ones can be in step with the issue of a warp's instructions.
  const bool backwards = (clock64() >> 5 & 1) != 0;
  float sum = 0.0f;
  for (int i = 0; i < args.k; ++i) {
    sum += naive_product(args, p.row, p.col, backwards ? args.k - 1 - i : i);
  }
  naive_store(args, p.row, p.col, sum);
}
