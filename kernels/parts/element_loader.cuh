// element_loader.cuh -- an operand's k tiles, element by element: for bases and leading dimensions
// that allow nothing wider, and for operands whose k is not contiguous.
//
// A thread gathers 8 elements of k of one row into registers and writes them as one 16-byte chunk,
// where cp.async would have put it. Neighbouring threads take what lies side by side in memory:
// chunks of a row where k is contiguous, else rows.
//
//   k contiguous:  thread 0: row 0, k 0..7    thread 1: row 0, k 8..15   ...
//   else:          thread 0: row 0, k 0..7    thread 1: row 1, k 0..7    ...
//
// What lies beyond the operand's rows or k is zero and never read.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// The element at `pointer` where it exists, else zero. Predicated, so that a batch is in flight at
// once.
__device__ __forceinline__ u32 load_element(const u16* pointer, bool exists) {
  u16 bits;
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.b32 exists, %2, 0;\n"
      "mov.b16 %0, 0;\n"
      "@exists ld.global.u16 %0, [%1];\n"
      "}"
      : "=h"(bits)
      : "l"(pointer), "r"(static_cast<int>(exists)));
  return bits;
}

template <int kRows, int kTileK, int kThreads, bool kAlongK>
class ElementLoader {
 public:
  __device__ __forceinline__ ElementLoader(const void* operand, i64 ld, int first_row, int rows,
                                           int k)
      : row_stride_(kAlongK ? ld : 1),
        k_stride_(kAlongK ? 1 : ld),
        source_(static_cast<const u16*>(operand) + first_row * row_stride_),
        rows_(rows - first_row),
        k_left_(k) {}

  // The next k tile. `place(row, chunk)` is a chunk's offset in bytes.
  template <class Place>
  __device__ __forceinline__ void load(u32 stage, Place place) {
#pragma unroll 1
    for (int first = 0; first < kPasses; first += kBatch) {
      u32 words[kBatch][kChunkElements / 2];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) gather(first + i, words[i]);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const Chunk chunk(first + i);
        if (!chunk.exists()) continue;
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                         stage + place(chunk.row, chunk.column)),
                     "r"(words[i][0]), "r"(words[i][1]), "r"(words[i][2]), "r"(words[i][3])
                     : "memory");
      }
    }
    source_ += kTileK * k_stride_;
    k_left_ -= kTileK;
  }

 private:
  static constexpr int kChunkElements = 8;
  static constexpr int kRowChunks = kTileK / kChunkElements;
  static constexpr int kChunks = kRows * kRowChunks;
  static constexpr int kPasses = ceil_div(kChunks, kThreads);
  static constexpr int kBatch = kPasses < 2 ? kPasses : 2;

  struct Chunk {
    int row;
    int column;
    __device__ __forceinline__ explicit Chunk(int pass) {
      const int index = static_cast<int>(threadIdx.x) + pass * kThreads;
      row = kAlongK ? index / kRowChunks : index % kRows;
      column = kAlongK ? index % kRowChunks : index / kRows;
    }
    __device__ __forceinline__ bool exists() const {
      return kAlongK ? row < kRows : column < kRowChunks;
    }
  };

  __device__ __forceinline__ void gather(int pass, u32 (&words)[kChunkElements / 2]) {
    const Chunk chunk(pass);
    const int k = chunk.column * kChunkElements;
    const bool inside = chunk.exists() && chunk.row < rows_;
    const u16* const source = source_ + chunk.row * row_stride_ + k * k_stride_;
#pragma unroll
    for (int i = 0; i < kChunkElements / 2; ++i) {
      const u32 low = load_element(source + 2 * i * k_stride_, inside && k + 2 * i < k_left_);
      const u32 high =
          load_element(source + (2 * i + 1) * k_stride_, inside && k + 2 * i + 1 < k_left_);
      words[i] = low | high << 16;
    }
  }

  i64 row_stride_;
  i64 k_stride_;
  const u16* source_;  // of the tile's first row at the next k tile
  int rows_;
  int k_left_;
};

}  // namespace gemmsmith_kernels
