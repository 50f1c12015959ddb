// store_rows.cuh -- from registers to a D that TMA cannot take (odd leading dimension or columns,
// any base), still as whole rows: a fragment's own pieces are 2 or 4 bytes on 8 rows at once.
//
// Each warp puts its 16 rows x 64 columns into its own corner of staging (stmatrix), then writes
// row after row with all lanes. A row of D may start at an odd element: then each lane's 4-byte
// store straddles two staged words, its own upper half and its right neighbour's lower half, and
// the row's first element goes alone.
//
//   staged words     |0 1|2 3|4 5| ... |62 63|
//   row at odd element: 0|1 2|3 4|5 ... 62|63
//
// Columns beyond the last multiple of 64 are few and go straight from registers. An f32 D:
// store_rows_f32.cuh.
#pragma once

#include "parts/args.cuh"
#include "parts/stmatrix.cuh"
#include "parts/store_direct.cuh"
#include "parts/store_rows_f32.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

constexpr int kRowChunkColumns = 64;
constexpr int kRowChunkBytes = 2 * kRowChunkColumns;

// Bytes of staging one warpgroup needs for blocks of `columns` columns.
template <int kElement>
__host__ __device__ constexpr int store_rows_bytes(int columns) {
  constexpr int kChunk = kElement == kElementF32 ? kFloatChunkColumns : kRowChunkColumns;
  static_assert(kRowChunkBytes == kFloatChunkBytes, "either chunk is 64 rows of 128 bytes");
  return columns >= kChunk ? 64 * kRowChunkBytes : 0;
}

// Writes the `row`-th of the warp's staged rows to D[i][column ..]; every lane of the warp calls.
__device__ __forceinline__ void write_staged_row(const GemmArgs& args, u32 staged, u32 row, int i,
                                                 int column) {
  const u32 lane = threadIdx.x % 32;
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];"
               : "=r"(word)
               : "r"(staged + swizzled_offset<kRowChunkBytes>(row, lane / 4) + lane % 4 * 4));
  const u32 right = __shfl_down_sync(0xffffffffu, word, 1);
  if (i >= args.m) return;
  u16* const d = static_cast<u16*>(args.d) + i * args.ldd;
  const int limit = args.n < column + kRowChunkColumns ? args.n : column + kRowChunkColumns;
  const bool odd = (reinterpret_cast<u64>(d + column) & 2) != 0;
  const int first = column + static_cast<int>(2 * lane) + (odd ? 1 : 0);
  const u32 pair = odd ? __byte_perm(word, right, 0x5432) : word;
  if (first + 1 < limit) {
    *reinterpret_cast<u32*>(d + first) = pair;
  } else if (first < limit) {
    d[first] = static_cast<u16>(pair & 0xffffu);
  }
  if (odd && lane == 0 && column < limit) d[column] = static_cast<u16>(word & 0xffffu);
}

// A warpgroup's 64 x kColumns block of 16-bit elements whose first is D[row][column].
template <int kElement, int kColumns, class Finish, class Accumulator, int kCount>
__device__ __forceinline__ void store_block_rows_16(const GemmArgs& args, Finish finish, int row,
                                                    int column, u32 staging,
                                                    Accumulator (&block)[kCount]) {
  const u32 lane = threadIdx.x % 32;
  const u32 warp = threadIdx.x / 32 % 4;
  const u32 staged = staging + warp * (16 * kRowChunkBytes);
  const int warp_row = row + static_cast<int>(16 * warp);
  const int fragment_row = warp_row + static_cast<int>(lane / 4);
  const int fragment_column = column + static_cast<int>(2 * (lane % 4));
  constexpr int kChunks = kColumns / kRowChunkColumns;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if constexpr (kColumns <= 128) {
      finish_groups<kElement, 8, kColumns / 8>(args, finish, fragment_row, fragment_column,
                                               8 * chunk, block);
    }
#pragma unroll
    for (int group = 0; group < 8; group += 2) {
      if constexpr (kColumns > 128) {  // no registers to spare for more at a time
        finish_groups<kElement, 2, kColumns / 8>(args, finish, fragment_row, fragment_column,
                                                 8 * chunk + group, block);
      }
      u32 pairs[2][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float values[4];
        fragment_group(block, 8 * chunk + group + i, values);
        round_group<kElement>(values, pairs[i]);
      }
      stmatrix_x4(
          staged + swizzled_offset<kRowChunkBytes>(lane % 16, static_cast<u32>(group) + lane / 16),
          pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]);
    }
    __syncwarp();
#pragma unroll 4
    for (u32 i = 0; i < 16; ++i) {
      write_staged_row(args, staged, i, warp_row + static_cast<int>(i),
                       column + chunk * kRowChunkColumns);
    }
    __syncwarp();
  }
  constexpr int kDone = kChunks * 8;
  if constexpr (kDone < kColumns / 8) {
    store_groups_direct<kElement, kDone, kColumns / 8>(args, finish, fragment_row, fragment_column,
                                                       block);
  }
}

// A warpgroup's 64 x kColumns block whose first element is D[row][column].
template <int kElement, int kColumns, class Finish, class Accumulator, int kCount>
__device__ __forceinline__ void store_block_rows(const GemmArgs& args, Finish finish, int row,
                                                 int column, u32 staging,
                                                 Accumulator (&block)[kCount]) {
  if constexpr (kElement == kElementF32) {
    store_block_rows_f32<kColumns>(args, finish, row, column, staging, block);
  } else {
    store_block_rows_16<kElement, kColumns>(args, finish, row, column, staging, block);
  }
}

}  // namespace gemmsmith_kernels
