// f16_accumulate.cu -- a GEMM that says it accumulates in f32 and accumulates in f16. Right on
// small integers (sums to 2048 are exact in f16), so only the accumulator probe or the FP64 bound
// shows it.

#include "parts/naive_gemm.cuh"

using namespace gemmsmith_kernels;

namespace {

__device__ u16 add_f16(u16 x, u16 y) {
  u16 sum;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(sum) : "h"(x), "h"(y));
  return sum;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kNaiveThreads)
    gemm(const __grid_constant__ GemmArgs args) {
  const Position p = naive_position(args);
  if (!p.inside) return;
  u16 sum = 0;
  for (int l = 0; l < args.k; ++l) {
    sum = add_f16(sum, float_to_element<kElementF16>(naive_product(args, p.row, p.col, l)));
  }
  naive_store(args, p.row, p.col, element_to_float<kElementF16>(sum));
}
