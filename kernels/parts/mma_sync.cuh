// mma_sync.cuh -- the warp-wide tensor-core instruction of Ampere, m16n8k16, for 16-bit elements.
//
// Fragment layout (lane l, g = l / 4, t = l % 4):
//   A (16 x 16): a[0] rows g, k 2t; a[1] rows g + 8; a[2], a[3] the same at k + 8. Each a pair
//   along k. B (16 x 8):  b[0] column g, k 2t; b[1] the same at k + 8. D (16 x 8):  f32: d[0], d[1]
//   row g, columns 2t, 2t + 1; d[2], d[3] row g + 8.
//                f16: d[0] the pair of row g, d[1] of row g + 8.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// 16 x 8 accumulators of one warp, in the layout above.
template <int kAccumulator>
struct Accumulators;

template <>
struct Accumulators<kAccumulatorF32> {
  float value[4];

  __device__ __forceinline__ void clear() {
    for (int i = 0; i < 4; ++i) value[i] = 0.0f;
  }
  // Row half (0: row g, 1: row g + 8), column 2t + i.
  __device__ __forceinline__ float get(int half, int i) const { return value[2 * half + i]; }
};

template <>
struct Accumulators<kAccumulatorF16> {
  u32 pair[2];

  __device__ __forceinline__ void clear() { pair[0] = pair[1] = 0; }
  __device__ __forceinline__ float get(int half, int i) const {
    return i == 0 ? low_to_float<kElementF16>(pair[half]) : high_to_float<kElementF16>(pair[half]);
  }
};

// mma.sync.aligned.m16n8k16.row.col: d += a * b.
template <int kElement>
__device__ __forceinline__ void multiply_add(Accumulators<kAccumulatorF32>& d, const u32 (&a)[4],
                                             u32 b0, u32 b1) {
  if constexpr (kElement == kElementBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

template <int kElement>
__device__ __forceinline__ void multiply_add(Accumulators<kAccumulatorF16>& d, const u32 (&a)[4],
                                             u32 b0, u32 b1) {
  static_assert(kElement == kElementF16, "f16 accumulators take f16 elements only");
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
      "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d.pair[0]), "+r"(d.pair[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace gemmsmith_kernels
