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
// An f32 D is staged as f32 in the same way: a chunk of 8 elements is 32 bytes then, on a boundary
// of 32 bytes, and two stores.
//
// The row pitch is tile_n + 8 elements: room for the shift, and an odd number of 16-byte units (for
// tile_n % 16 == 0), so that the 8 rows a fragment covers lie in different banks.
#pragma once

#include "parts/cp_async.cuh"
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

template <class Element>
__device__ __forceinline__ RowShift row_shift(const Element* tile, i64 ld) {
  return {static_cast<u32>(reinterpret_cast<u64>(tile) / sizeof(Element)) % kChunkElements,
          static_cast<u32>(ld) % kChunkElements};
}

// ld.shared.v4 and st.global.v4: spelt out, since the compiler splits conditional 16-byte copies
// into words.
__device__ __forceinline__ uint4 load_staged(const void* staged) {
  uint4 chunk;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w)
               : "r"(shared_address(staged))
               : "memory");
  return chunk;
}

__device__ __forceinline__ void store_global(void* to, const uint4& chunk) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w)
               : "memory");
}

// Writes the part of a chunk that lies in columns 0 .. cols of its row; `row` is the row's column 0
// in global memory, `col` the chunk's first column (negative in a shifted row's first chunk).
__device__ __forceinline__ void store_chunk(u16* row, int col, int cols, const uint4& chunk) {
  if (col >= 0 && col + kChunkElements <= cols) {
    store_global(row + col, chunk);
    return;
  }
  const u32 words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < kChunkElements; ++i) {
    const bool inside = col + i >= 0 && col + i < cols;
    if (inside) row[col + i] = static_cast<u16>(words[i / 2] >> (i % 2 * 16));
  }
}

// The same of a chunk of f32.
__device__ __forceinline__ void store_floats(float* to, const float (&chunk)[kChunkElements]) {
#pragma unroll
  for (int i = 0; i < kChunkElements; i += 4) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to + i), "f"(chunk[i]), "f"(chunk[i + 1]), "f"(chunk[i + 2]),
                   "f"(chunk[i + 3])
                 : "memory");
  }
}

__device__ __forceinline__ void store_chunk(float* row, int col, int cols,
                                            const float (&chunk)[kChunkElements]) {
  if (col >= 0 && col + kChunkElements <= cols) {
    store_floats(row + col, chunk);
    return;
  }
#pragma unroll
  for (int i = 0; i < kChunkElements; ++i) {
    if (col + i >= 0 && col + i < cols) row[col + i] = chunk[i];
  }
}

// Calls use(row, col, offset) for every chunk of the tile's first `rows` rows: col is the
// chunk's first column and offset its place in a staged plane, in elements. Neighbouring threads
// take neighbouring chunks. A shifted row has one chunk more.
template <int kTileM, int kTileN, int kThreads, bool kShifted, typename Use>
__device__ __forceinline__ void for_each_chunk(const RowShift& shift, int rows, int thread,
                                               Use use) {
  constexpr int kPerRow = kTileN / kChunkElements + (kShifted ? 1 : 0);
#pragma unroll 1
  for (int i = thread; i < kTileM * kPerRow; i += kThreads) {
    const int row = static_cast<int>(static_cast<u32>(i) / kPerRow);
    if (row >= rows) break;
    const int place = (i - row * kPerRow) * kChunkElements;
    const int behind = kShifted ? static_cast<int>(shift.of(row)) : 0;
    use(row, place - behind, row * staged_pitch(kTileN) + place);
  }
}

// Copies out a staged tile of a D without shifts whose columns inside are whole chunks: the common
// case. A thread keeps its column and takes every kRowsPerPass-th row. The two loops are apart
// because the compiler cannot know that D and the staged tile do not overlap: one loop would wait
// for each read of shared memory in turn.
template <int kTileM, int kTileN, int kThreads>
__device__ __forceinline__ void store_whole_chunks(u16* d, i64 ldd, int rows, int cols,
                                                   const u16* staged, int thread) {
  constexpr int kPerRow = kTileN / kChunkElements;
  constexpr int kRowsPerPass = kThreads / kPerRow;
  constexpr int kPasses = ceil_div(kTileM, kRowsPerPass);
  constexpr int kBatch = kPasses < 8 ? kPasses : 8;
  const int first = static_cast<int>(static_cast<u32>(thread) / kPerRow);
  const int col = (thread - first * kPerRow) * kChunkElements;
  if (first >= kRowsPerPass || col >= cols) return;
  const u16* from = staged + first * staged_pitch(kTileN) + col;
  u16* to = d + first * ldd + col;
  const i64 step = ldd * kRowsPerPass;
#pragma unroll
  for (int start = 0; start < kPasses; start += kBatch) {
    uint4 chunks[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int row = (start + i) * kRowsPerPass;
      const bool staged_row = kTileM % kRowsPerPass == 0 || first + row < kTileM;
      chunks[i] = load_staged(staged_row ? from + row * staged_pitch(kTileN) : from);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (first + (start + i) * kRowsPerPass < rows) store_global(to, chunks[i]);
      to += step;
    }
  }
}

}  // namespace gemmsmith_kernels
