// prefetch_rows.cuh -- asks L2 for rows of an operand that will be copied later.
//
// A prefetch is a hint and reads nothing, so it is as right before wait_for_predecessor() as after
// it: L2 is where every SM's writes meet, so a line fetched early is still up to date when the
// predecessor writes it late. What is gained is device memory's latency: the copies that follow the
// wait find their lines in L2.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kLineElements = 64;  // 128 bytes of 16-bit elements: what L2 fetches at once

// The first `columns` elements of every turns-th row of [first_row, first_row + kRows), from the
// turn-th on: CTAs that read the same rows share the asking. Rows beyond `rows` are left out. All
// kThreads threads of the CTA call it.
template <int kRows, int kThreads>
__device__ __forceinline__ void prefetch_rows(const void* operand, i64 ld, int first_row, int rows,
                                              int columns, int turn, int turns) {
  const int end = rows - first_row < kRows ? rows : first_row + kRows;
  int row = first_row + turn + static_cast<int>(threadIdx.x) * turns;
#pragma unroll 1
  for (; row < end; row += kThreads * turns) {
    const u16* const start = static_cast<const u16*>(operand) + row * ld;
#pragma unroll 1
    for (int column = 0; column < columns; column += kLineElements) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(start + column) : "memory");
    }
  }
}

}  // namespace gemmsmith_kernels
