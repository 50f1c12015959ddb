// stage_transposed.cuh -- the sums of a transposed product on their way to D: a fragment's columns
// are rows of D, so stmatrix transposes each of its 8 x 8 matrices.
//
//   block (64 rows x columns)                 staged, as D lies
//   +----+----+----+--                        +----+----+--------+----+
//   | 00 | 01 | 02 | ..  rows  0..7           | 00'| 10'| ...    | 70'|  column 0..7 of the block
//   | 10 | 11 | 12 | ..  rows  8..15          | 01'| 11'| ...    | 71'|  column 8..15
//   | ...                                     +----+----+--------+----+
//                                               64 elements, 128 bytes, swizzled over 8 rows
#pragma once

#include "parts/stage_groups.cuh"
#include "parts/stmatrix.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

// Columns `first` .. of a warpgroup's block, as many as a buffer holds, into the buffer's rows.
template <int kElement, int kBufferColumns, int kColumns, class Accumulator, int kCount>
__device__ __forceinline__ void stage_columns_transposed(u32 buffer, u32 warp, u32 lane, int first,
                                                         const Accumulator (&block)[kCount]) {
  static_assert(sizeof(Storage<kElement>) == 2, "matrix instructions transpose 16-bit elements");
  constexpr int kRowBytes = 128;
  // Which of two neighbouring groups, of the warp's two 8-row blocks, and of 8 columns this lane
  // addresses.
  const u32 address_group = lane / 16;
  const u32 address_chunk = 2 * warp + lane / 8 % 2;
  const u32 address_column = lane % 8;
  for_each_group_pair<kElement, kBufferColumns, kColumns>(
      first, block, [&](u32 group, bool paired, const u32(&pairs)[2][2]) {
        const u32 my_group = group + (paired ? address_group : 0u);
        const u32 address =
            buffer + swizzled_offset<kRowBytes>(8 * my_group + address_column, address_chunk);
        if (paired) {
          stmatrix_x4_transposed(address, pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]);
        } else {
          stmatrix_x2_transposed(address, pairs[0][0], pairs[0][1]);
        }
      });
}

}  // namespace gemmsmith_kernels
