// wgmma_fragment.cuh -- which elements of a 64-row block of D one thread's accumulators hold.
//
// Columns come in groups of 8. In group g, thread `lane` of warp `warp` (0..3) of the warpgroup
// holds
//
//   value 0, 1:  row 16 * warp + lane / 4,      columns 8 * g + 2 * (lane % 4) + {0, 1}
//   value 2, 3:  row 16 * warp + lane / 4 + 8,  the same columns
//
// f32 accumulators: registers 4g..4g+3. f16 accumulators: registers 2g, 2g+1, a pair in each.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// alpha and beta as this launch means them. With alpha = 0 the product must not leak NaN into D,
// and with beta = 0 neither may C.
struct Scale {
  float alpha;
  float beta;

  __device__ __forceinline__ float product(float value) const {
    return alpha == 0.0f ? 0.0f : alpha * value;
  }
};

__device__ __forceinline__ Scale load_scale(const GemmArgs& args) {
  return {args.alpha_device != nullptr ? *args.alpha_device : args.alpha,
          args.beta_device != nullptr ? *args.beta_device : args.beta};
}

// The four values of group `group` in f32. `group` must be a constant after unrolling.
template <int kCount>
__device__ __forceinline__ void fragment_group(const float (&registers)[kCount], int group,
                                               float (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = registers[4 * group + i];
}

template <int kCount>
__device__ __forceinline__ void fragment_group(const u32 (&registers)[kCount], int group,
                                               float (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    values[2 * i] = low_to_float<kElementF16>(registers[2 * group + i]);
    values[2 * i + 1] = high_to_float<kElementF16>(registers[2 * group + i]);
  }
}

// beta * C added to one pair of neighbouring columns, each element only where it exists.
template <int kElement>
__device__ __forceinline__ void add_c_pair(const GemmArgs& args, float beta, int row, int column,
                                           float& low, float& high) {
  if (row >= args.m) return;
  const u16* const c = static_cast<const u16*>(args.c) + row * args.ldc + column;
  if (column < args.n) low += beta * element_to_float<kElement>(c[0]);
  if (column + 1 < args.n) high += beta * element_to_float<kElement>(c[1]);
}

// One group of a fragment, scaled, C added, rounded: `pairs[0]` is the upper row, `pairs[1]` the
// lower.
template <int kElement>
__device__ __forceinline__ void finish_group(const GemmArgs& args, Scale scale, int row, int column,
                                             const float (&values)[4], u32 (&pairs)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float low = scale.product(values[2 * half]);
    float high = scale.product(values[2 * half + 1]);
    if (scale.beta != 0.0f) {
      add_c_pair<kElement>(args, scale.beta, row + 8 * half, column, low, high);
    }
    pairs[half] = pack_elements<kElement>(low, high);
  }
}

}  // namespace gemmsmith_kernels
