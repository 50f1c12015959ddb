// store_direct.cuh -- from registers straight to D, for a D whose base or leading dimension TMA
// cannot take and for the small slices that split-K leaves.
#pragma once

#include "parts/args.cuh"
#include "parts/stmatrix.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// True when every pair of columns that starts at an even column can be stored at once.
template <int kElement>
__device__ __forceinline__ bool pairs_are_aligned(const GemmArgs& args) {
  constexpr u64 kPairBytes = 2 * sizeof(Storage<kElement>);
  return (args.ldd & 1) == 0 && (reinterpret_cast<u64>(args.d) & (kPairBytes - 1)) == 0;
}

// Stores one finished and rounded group: `row`, `column` are those of the thread's first value.
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

// The same of a transposed product's sums, whose rows are contiguous in D: the lanes of the warp,
// all of which call, hand each other what they have, so that each has a pair of rows of one column.
__device__ __forceinline__ void store_group_transposed(const GemmArgs& args, bool aligned, int row,
                                                       int column, const u32 (&pairs)[2]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int j = column - 2 * (lane % 4) + lane / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const u32 pair = transpose_fragment(pairs[half]);
    const int i = row - lane / 4 + 8 * half + 2 * (lane % 4);
    if (i >= args.m || j >= args.n) continue;
    u16* const d = static_cast<u16*>(args.d) + j * args.ldd + i;
    if (aligned && i + 1 < args.m) {
      *reinterpret_cast<u32*>(d) = pair;
    } else {
      d[0] = static_cast<u16>(pair & 0xffffu);
      if (i + 1 < args.m) d[1] = static_cast<u16>(pair >> 16);
    }
  }
}

// The same of an f32 D: the four lanes of a row write 32 bytes of it.
__device__ __forceinline__ void store_group_f32(const GemmArgs& args, bool aligned, int row,
                                                int column, const float (&values)[4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = row + 8 * half;
    if (i >= args.m || column >= args.n) continue;
    float* const d = static_cast<float*>(args.d) + i * args.ldd + column;
    if (aligned && column + 1 < args.n) {
      *reinterpret_cast<float2*>(d) = make_float2(values[2 * half], values[2 * half + 1]);
    } else {
      d[0] = values[2 * half];
      if (column + 1 < args.n) d[1] = values[2 * half + 1];
    }
  }
}

// Rounds one finished group to D's type and stores it. All lanes of the warp call.
template <int kElement, bool kTransposed>
__device__ __forceinline__ void round_and_store_group(const GemmArgs& args, bool aligned, int row,
                                                      int column, const float (&values)[4]) {
  if constexpr (kElement == kElementF32) {
    static_assert(!kTransposed, "an f32 D has no transposed store");
    store_group_f32(args, aligned, row, column, values);
  } else {
    u32 pairs[2];
    round_group<kElement>(values, pairs);
    if constexpr (kTransposed) {
      store_group_transposed(args, aligned, row, column, pairs);
    } else {
      store_group(args, aligned, row, column, pairs);
    }
  }
}

// Groups kFirst .. kLast - 1 of a warpgroup's block; `row`, `column` are those of the thread's
// first value in group 0.
template <int kElement, int kFirst, int kLast, class Finish, class Accumulator, int kCount>
__device__ __forceinline__ void store_groups_direct(const GemmArgs& args, Finish finish, int row,
                                                    int column, Accumulator (&block)[kCount]) {
  finish_groups<kElement, kLast - kFirst, kLast>(args, finish, row, column, kFirst, block);
  const bool aligned = pairs_are_aligned<kElement>(args);
#pragma unroll
  for (int group = kFirst; group < kLast; ++group) {
    float values[4];
    fragment_group(block, group, values);
    round_and_store_group<kElement, Finish::kIsTransposed>(args, aligned, row, column + 8 * group,
                                                           values);
  }
}

}  // namespace gemmsmith_kernels
