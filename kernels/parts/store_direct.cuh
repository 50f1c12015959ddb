// store_direct.cuh -- from registers straight to D, for a D whose base or leading dimension TMA
// cannot take and for the small slices that split-K leaves.
#pragma once

#include "parts/args.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// True when every pair of columns that starts at an even column is 4-byte aligned in D.
__device__ __forceinline__ bool pairs_are_aligned(const GemmArgs& args) {
  return (args.ldd & 1) == 0 && (reinterpret_cast<u64>(args.d) & 3) == 0;
}

// Stores one finished group: `row`, `column` are those of the thread's first value.
__device__ __forceinline__ void store_group(const GemmArgs& args, bool aligned, int row, int column,
                                            const u32 (&pairs)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = row + 8 * half;
    if (i >= args.m || column >= args.n) continue;
    u16* const d = static_cast<u16*>(args.d) + i * args.ldd + column;
    if (aligned && column + 1 < args.n) {
      *reinterpret_cast<u32*>(d) = pairs[half];
    } else {
      d[0] = static_cast<u16>(pairs[half] & 0xffffu);
      if (column + 1 < args.n) d[1] = static_cast<u16>(pairs[half] >> 16);
    }
  }
}

// Groups kFirst .. kLast - 1 of a warpgroup's block; `row`, `column` are those of the thread's
// first value in group 0.
template <int kElement, int kFirst, int kLast, class Finish, class Accumulator, int kCount>
__device__ __forceinline__ void store_groups_direct(const GemmArgs& args, Finish finish, int row,
                                                    int column, Accumulator (&block)[kCount]) {
  finish_groups<kElement, kLast - kFirst, kLast>(args, finish, row, column, kFirst, block);
  const bool aligned = pairs_are_aligned(args);
#pragma unroll
  for (int group = kFirst; group < kLast; ++group) {
    float values[4];
    u32 pairs[2];
    fragment_group(block, group, values);
    round_group<kElement>(values, pairs);
    store_group(args, aligned, row, column + 8 * group, pairs);
  }
}

}  // namespace gemmsmith_kernels
