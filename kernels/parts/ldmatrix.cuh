// ldmatrix.cuh -- tensor-core fragments from shared memory, and the swizzle that keeps them free of
// bank conflicts.
//
// An operand stage is rows x tile_k elements, K contiguous, in 16-byte chunks. ldmatrix reads 8
// rows of one chunk column at a time; without a swizzle those 8 chunks lie a row apart and, from
// 128-byte rows on, all in the same four banks. So the chunk index is XORed with the row's place in
// a cycle:
//
//   row bytes      32            64            >= 128
//   rows a 128-byte line  4       2             1
//   chunk ^=       (row / 4) & 1  (row / 2) & 3  row & 7
//
// 8 consecutive rows then cover all 32 banks, both for ldmatrix and for the 16-byte copies that
// fill the stage. The XOR of rows 8 apart is the same, so a fragment's rows may be reached by
// constant offsets from the first.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

template <int kChunksPerRow>
__device__ __forceinline__ int swizzle_of_row(int row) {
  static_assert((kChunksPerRow & (kChunksPerRow - 1)) == 0 && kChunksPerRow >= 2,
                "a row must be a power of two of 16-byte chunks");
  if constexpr (kChunksPerRow >= 8) {
    return row & 7;
  } else {
    return (row / (8 / kChunksPerRow)) & (kChunksPerRow - 1);
  }
}

// ldmatrix.x4: four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of
// matrix l / 8 and receives, of each matrix, row l / 4, columns 2 * (l % 4) and the next.
__device__ __forceinline__ void load_matrices_x4(u32 (&fragment)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
}

// ldmatrix.x2: two of them; the addresses of lanes 16..31 are ignored.
__device__ __forceinline__ void load_matrices_x2(u32 (&fragment)[2], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(fragment[0]), "=r"(fragment[1])
               : "r"(address)
               : "memory");
}

}  // namespace gemmsmith_kernels
