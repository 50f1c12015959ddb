// store_rows_f32.cuh -- what store_rows.cuh does, for an f32 D: 32 columns, 128 bytes, at a time.
// Where every row of D starts on 16 bytes, eight lanes write a row, 16 bytes each; elsewhere a
// row's elements are a lane's each, which are whole sectors, too.
#pragma once

#include "parts/args.cuh"
#include "parts/stage_floats.cuh"
#include "parts/stmatrix.cuh"
#include "parts/store_direct.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

constexpr int kFloatChunkColumns = 32;
constexpr int kFloatChunkBytes = 4 * kFloatChunkColumns;

__device__ __forceinline__ bool rows_are_aligned(const GemmArgs& args) {
  return (args.ldd & 3) == 0 && (reinterpret_cast<u64>(args.d) & 15) == 0;
}

// The warp's staged rows 4 `four` .. 4 `four` + 3, of which the first is D's row `row`.
__device__ __forceinline__ void write_four_rows(const GemmArgs& args, u32 staged, u32 four, int row,
                                                int column) {
  const u32 lane = threadIdx.x % 32;
  const u32 staged_row = 4 * four + lane / 8;
  float values[4];
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(staged + swizzled_offset<kFloatChunkBytes>(staged_row, lane % 8)));
  const int i = row + static_cast<int>(lane / 8);
  const int j = column + static_cast<int>(lane % 8 * 4);
  if (i >= args.m) return;
  float* const d = static_cast<float*>(args.d) + i * args.ldd + j;
  if (j + 3 < args.n) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(d), "f"(values[0]),
                 "f"(values[1]), "f"(values[2]), "f"(values[3])
                 : "memory");
    return;
  }
#pragma unroll
  for (int e = 0; e < 3; ++e) {
    if (j + e < args.n) d[e] = values[e];
  }
}

// The warp's staged row `staged_row`, which is D's row i.
__device__ __forceinline__ void write_row(const GemmArgs& args, u32 staged, u32 staged_row, int i,
                                          int column) {
  const u32 lane = threadIdx.x % 32;
  float value;
  asm volatile(
      "ld.shared.f32 %0, [%1];"
      : "=f"(value)
      : "r"(staged + swizzled_offset<kFloatChunkBytes>(staged_row, lane / 4) + lane % 4 * 4));
  const int j = column + static_cast<int>(lane);
  if (i < args.m && j < args.n) static_cast<float*>(args.d)[i * args.ldd + j] = value;
}

// A warpgroup's 64 x kColumns block whose first element is D[row][column].
template <int kColumns, class Finish, int kCount>
__device__ __forceinline__ void store_block_rows_f32(const GemmArgs& args, Finish finish, int row,
                                                     int column, u32 staging,
                                                     float (&block)[kCount]) {
  const u32 lane = threadIdx.x % 32;
  const u32 warp = threadIdx.x / 32 % 4;
  const u32 staged = staging + warp * (16 * kFloatChunkBytes);
  const int warp_row = row + static_cast<int>(16 * warp);
  const int fragment_row = warp_row + static_cast<int>(lane / 4);
  const int fragment_column = column + static_cast<int>(2 * (lane % 4));
  constexpr int kChunks = kColumns / kFloatChunkColumns;
  constexpr int kAtOnce = kColumns > 128 ? 2 : 4;  // groups that registers can be spared for
  const bool aligned = rows_are_aligned(args);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
    for (int group = 0; group < 4; group += kAtOnce) {
      finish_groups<kElementF32, kAtOnce, kColumns / 8>(args, finish, fragment_row, fragment_column,
                                                        4 * chunk + group, block);
    }
    stage_floats<kFloatChunkColumns>(staged, lane, block, 4 * chunk);
    __syncwarp();
    const int first = column + chunk * kFloatChunkColumns;
    if (aligned) {
#pragma unroll
      for (u32 four = 0; four < 4; ++four) {
        write_four_rows(args, staged, four, warp_row + static_cast<int>(4 * four), first);
      }
    } else {
#pragma unroll 4
      for (u32 i = 0; i < 16; ++i) {
        write_row(args, staged, i, warp_row + static_cast<int>(i), first);
      }
    }
    __syncwarp();
  }
  constexpr int kDone = kChunks * 4;
  if constexpr (kDone < kColumns / 8) {
    store_groups_direct<kElementF32, kDone, kColumns / 8>(args, finish, fragment_row,
                                                          fragment_column, block);
  }
}

}  // namespace gemmsmith_kernels
