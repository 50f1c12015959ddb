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

#include "parts/args.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

// alpha and beta as this launch means them. With alpha = 0 the product must not leak NaN into D,
// and with beta = 0 neither may C.
//
// kTransposed: the sums are of the transposed product, so that C and D have a fragment's rows
// contiguous: element (row, column) at column * ld + row.
template <bool kTransposed>
struct Scale {
  static constexpr bool kIsTransposed = kTransposed;
  float alpha;
  float beta;

  __device__ __forceinline__ bool identity() const { return alpha == 1.0f && beta == 0.0f; }
  __device__ __forceinline__ float product(float value) const {
    return alpha == 0.0f ? 0.0f : alpha * value;
  }
};

template <bool kTransposed>
__device__ __forceinline__ Scale<kTransposed> load_scale(const GemmArgs& args) {
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

// C's element at `pointer` where it exists, else zero. Predicated rather than branched around:
// hundreds of these are unrolled, and `volatile` keeps them in order, so that few addresses live at
// a time.
template <int kElement>
__device__ __forceinline__ float load_c(const Storage<kElement>* pointer, bool exists) {
  if constexpr (kElement == kElementF32) {
    float value;
    asm volatile(
        "{\n"
        ".reg .pred exists;\n"
        "setp.ne.b32 exists, %2, 0;\n"
        "mov.f32 %0, 0f00000000;\n"
        "@exists ld.global.f32 %0, [%1];\n"
        "}"
        : "=f"(value)
        : "l"(pointer), "r"(static_cast<int>(exists))
        : "memory");
    return value;
  } else {
    u16 bits;
    asm volatile(
        "{\n"
        ".reg .pred exists;\n"
        "setp.ne.b32 exists, %2, 0;\n"
        "mov.b16 %0, 0;\n"
        "@exists ld.global.u16 %0, [%1];\n"
        "}"
        : "=h"(bits)
        : "l"(pointer), "r"(static_cast<int>(exists))
        : "memory");
    return element_to_float<kElement>(bits);
  }
}

// beta * C added to one pair of neighbouring columns.
template <int kElement, bool kTransposed>
__device__ __forceinline__ void add_c_pair(const GemmArgs& args, float beta, int row, int column,
                                           float& low, float& high) {
  const i64 step = kTransposed ? args.ldc : 1;
  const i64 offset = kTransposed ? column * args.ldc + row : row * args.ldc + column;
  const Storage<kElement>* const c = static_cast<const Storage<kElement>*>(args.c) + offset;
  const bool reads = beta != 0.0f && row < args.m;
  low += beta * load_c<kElement>(c, reads && column < args.n);
  high += beta * load_c<kElement>(c + step, reads && column + 1 < args.n);
}

// alpha and beta * C applied to one group of a fragment; `row`, `column` are those of its first
// value. Both pass through an asm statement so that the optimiser cannot see hundreds of
// related addresses and keep them in registers that the big tiles need for accumulators.
template <int kElement, bool kTransposed>
__device__ __forceinline__ void finish_group(const GemmArgs& args, Scale<kTransposed> scale,
                                             int row, int column, float (&values)[4]) {
  asm volatile("" : "+r"(row), "+r"(column));
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = scale.product(values[i]);
  add_c_pair<kElement, kTransposed>(args, scale.beta, row, column, values[0], values[1]);
  add_c_pair<kElement, kTransposed>(args, scale.beta, row + 8, column, values[2], values[3]);
}

template <int kCount>
__device__ __forceinline__ void put_fragment_group(float (&registers)[kCount], int group,
                                                   const float (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) registers[4 * group + i] = values[i];
}

// f16 accumulators come with f16 elements: this rounding is the final one.
template <int kCount>
__device__ __forceinline__ void put_fragment_group(u32 (&registers)[kCount], int group,
                                                   const float (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    registers[2 * group + i] = pack_elements<kElementF16>(values[2 * i], values[2 * i + 1]);
  }
}

// alpha and beta * C applied to groups first .. first + kGroups - 1 of a block of kBlockGroups;
// `row`, `column` are those of the thread's first value in the block. A piece of code of its own,
// jumped over where alpha is 1 and beta 0: code that is run once from cold costs what it fetches,
// so the common way must not be strewn over branches around this.
template <int kElement, int kGroups, int kBlockGroups, bool kTransposed, class Accumulator,
          int kCount>
__device__ __forceinline__ void finish_groups(const GemmArgs& args, Scale<kTransposed> scale,
                                              int row, int column, int first,
                                              Accumulator (&block)[kCount]) {
  if (scale.identity()) return;
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const int group = first + i;
    if (group >= kBlockGroups) continue;
    float values[4];
    fragment_group(block, group, values);
    finish_group<kElement>(args, scale, row, column + 8 * group, values);
    put_fragment_group(block, group, values);
  }
}

// Rounds one group: `pairs[0]` is the upper row, `pairs[1]` the lower.
template <int kElement>
__device__ __forceinline__ void round_group(const float (&values)[4], u32 (&pairs)[2]) {
  pairs[0] = pack_elements<kElement>(values[0], values[1]);
  pairs[1] = pack_elements<kElement>(values[2], values[3]);
}

}  // namespace gemmsmith_kernels
