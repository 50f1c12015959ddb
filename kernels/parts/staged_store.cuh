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

// Two neighbours in a row; at an odd place they are two stores.
__device__ __forceinline__ void stage_pair(u16* destination, bool odd, u32 pair) {
  if (odd) {
    destination[0] = static_cast<u16>(pair & 0xffffu);
    destination[1] = static_cast<u16>(pair >> 16);
  } else {
    *reinterpret_cast<u32*>(destination) = pair;
  }
}

__device__ __forceinline__ void stage_pair(float* destination, bool odd, float low, float high) {
  if (odd) {
    destination[0] = low;
    destination[1] = high;
  } else {
    *reinterpret_cast<float2*>(destination) = make_float2(low, high);
  }
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

// Calls store(row, col, offset) for every 16-byte chunk of the tile's first `rows` rows: col is the
// chunk's first column and offset its place in a staged plane, in elements. Threads of a warp take
// neighbouring chunks.
template <int kTileM, int kTileN, int kThreads, int kUnroll, bool kShifted, typename Store>
__device__ __forceinline__ void for_each_chunk(const RowShift& shift, int rows, int thread,
                                               Store store) {
  constexpr int kPerRow = kTileN / kChunkElements + (kShifted ? 1 : 0);
  constexpr int kChunks = kTileM * kPerRow;
#pragma unroll kUnroll
  for (int i = thread; i < kChunks; i += kThreads) {
    const int row = i / kPerRow;
    if (row >= rows) break;
    const int place = (i - row * kPerRow) * kChunkElements;
    const int behind = kShifted ? static_cast<int>(shift.of(row)) : 0;
    store(row, place - behind, row * staged_pitch(kTileN) + place);
  }
}

}  // namespace gemmsmith_kernels
