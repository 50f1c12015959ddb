// staged_store.cuh -- a tile of D goes through shared memory, so that global memory sees whole
// 16-byte stores along rows instead of the 4-byte pieces that a tensor-core fragment holds.
//
// Any base and leading dimension: a row of D starts `shift` elements (0..7) behind a 16-byte
// boundary, and its staged copy starts as many elements behind one too. A 16-byte chunk of shared
// memory is then always a 16-byte chunk of global memory, and only the first and last chunk of a
// row fall back to single elements:
//
//   global   |. . . x x x x x|x x x x x x x x|x x . . . . . .|     x: the tile's row, shift 3
//   staged   |. . . x x x x x|x x x x x x x x|x x . . . . . .|     |: 16-byte boundaries
//
// The row pitch is tile_n + 8 elements: room for the shift, and an odd number of 16-byte units (for
// tile_n % 16 == 0), so that the 8 rows a fragment covers lie in different banks.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kChunkElements = 8;

constexpr int staged_pitch(int tile_n) { return tile_n + kChunkElements; }

// How the rows of a tile of D lie against 16-byte boundaries.
struct RowShift {
  u32 first;    // of row 0
  u32 per_row;  // added for each further row, modulo 8

  __device__ __forceinline__ u32 of(int row) const {
    return (first + static_cast<u32>(row) * per_row) % kChunkElements;
  }
  __device__ __forceinline__ bool any() const { return (first | per_row) != 0; }
};

__device__ __forceinline__ RowShift row_shift(const u16* tile, i64 ld) {
  return {static_cast<u32>(reinterpret_cast<u64>(tile) / sizeof(u16)) % kChunkElements,
          static_cast<u32>(ld) % kChunkElements};
}

// Writes the part of a chunk that lies in columns 0 .. cols of its row; `row` is the row's column 0
// in global memory, `col` the chunk's first column (negative in a shifted row's first chunk).
__device__ __forceinline__ void store_chunk(u16* row, int col, int cols, const uint4& chunk) {
  if (col >= 0 && col + kChunkElements <= cols) {
    *reinterpret_cast<uint4*>(row + col) = chunk;
    return;
  }
  const u32 words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < kChunkElements; ++i) {
    const bool inside = col + i >= 0 && col + i < cols;
    if (inside) row[col + i] = static_cast<u16>(words[i / 2] >> (i % 2 * 16));
  }
}

// Calls use(row, col, offset) for every 16-byte chunk of the tile's first `rows` rows: col is the
// chunk's first column and offset its place in a staged plane, in elements. Neighbouring threads
// take neighbouring chunks. A shifted row has one chunk more.
template <int kTileM, int kTileN, int kThreads, bool kShifted, typename Use>
__device__ __forceinline__ void for_each_chunk(const RowShift& shift, int rows, int thread,
                                               Use use) {
  constexpr int kPerRow = kTileN / kChunkElements + (kShifted ? 1 : 0);
#pragma unroll 1
  for (int i = thread; i < kTileM * kPerRow; i += kThreads) {
    const int row = i / kPerRow;
    if (row >= rows) break;
    const int place = (i - row * kPerRow) * kChunkElements;
    const int behind = kShifted ? static_cast<int>(shift.of(row)) : 0;
    use(row, place - behind, row * staged_pitch(kTileN) + place);
  }
}

// Copies out a staged tile of a D without shifts whose columns inside are whole chunks. The common
// case, so it is unrolled: many reads of shared memory are in flight before the first store.
template <int kTileM, int kTileN, int kThreads>
__device__ __forceinline__ void store_whole_chunks(u16* d, i64 ldd, int rows, int cols,
                                                   const u16* staged, int thread) {
  constexpr int kPerRow = kTileN / kChunkElements;
  constexpr int kChunks = kTileM * kPerRow;
#pragma unroll 8
  for (int i = thread; i < kChunks; i += kThreads) {
    const int row = i / kPerRow;
    const int col = (i - row * kPerRow) * kChunkElements;
    const uint4 chunk = *reinterpret_cast<const uint4*>(staged + row * staged_pitch(kTileN) + col);
    if (row < rows && col < cols) *reinterpret_cast<uint4*>(d + row * ldd + col) = chunk;
  }
}

// stmatrix.x4 (sm_90): four 8 x 8 matrices of 16-bit elements, each lane's pairs as ldmatrix would
// have returned them; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices_x4(u32 address, u32 pair0, u32 pair1, u32 pair2,
                                                  u32 pair3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(address), "r"(pair0), "r"(pair1), "r"(pair2), "r"(pair3)
               : "memory");
}

}  // namespace gemmsmith_kernels
