// stmatrix.cuh -- accumulator fragments into rows of shared memory, or into its columns, swizzled
// so that no banks clash.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// Where 16-byte chunk `chunk` of row `row` lies in a swizzled box of kRowBytes a row.
template <int kRowBytes>
__device__ __forceinline__ u32 swizzled_offset(u32 row, u32 chunk) {
  constexpr u32 kChunks = kRowBytes / 16;
  constexpr u32 kRowsPerSpan = 8 / kChunks;  // rows in 128 bytes, which the swizzle treats as one
  return row * kRowBytes + ((chunk ^ (row / kRowsPerSpan % kChunks)) << 4);
}

// stmatrix: four (or two) 8 x 8 matrices of 16-bit elements; lanes 8i..8i+7 give matrix i's rows.
__device__ __forceinline__ void stmatrix_x4(u32 address, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

__device__ __forceinline__ void stmatrix_x2(u32 address, u32 a, u32 b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a),
               "r"(b)
               : "memory");
}

// The same matrices transposed: lanes 8i..8i+7 give what becomes of matrix i's columns.
__device__ __forceinline__ void stmatrix_x4_transposed(u32 address, u32 a, u32 b, u32 c, u32 d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

__device__ __forceinline__ void stmatrix_x2_transposed(u32 address, u32 a, u32 b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(a), "r"(b)
               : "memory");
}

// One 8 x 8 matrix of 16-bit elements, spread over the warp as fragments are, transposed.
__device__ __forceinline__ u32 transpose_fragment(u32 pair) {
  u32 transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

}  // namespace gemmsmith_kernels
