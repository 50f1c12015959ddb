// stage_groups.cuh -- a warpgroup's finished groups, rounded and paired for stmatrix.
#pragma once

#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// Calls write(group, paired, pairs) for every second group of the buffer that begins at column
// `first` of the block: pairs[0] is the group's, pairs[1] the next one's where there is one.
template <int kElement, int kBufferColumns, int kColumns, class Accumulator, int kCount,
          class Write>
__device__ __forceinline__ void for_each_group_pair(int first, const Accumulator (&block)[kCount],
                                                    Write write) {
#pragma unroll
  for (int group = 0; group < kBufferColumns / 8; group += 2) {
    // Conditions instead of a shorter loop: the trip count must be a constant to be unrolled.
    if (first + 8 * group >= kColumns) continue;
    const bool paired = group + 1 < kBufferColumns / 8 && first + 8 * (group + 1) < kColumns;
    u32 pairs[2][2];
#pragma unroll
    for (int i = 0; i < (paired ? 2 : 1); ++i) {
      float values[4];
      fragment_group(block, first / 8 + group + i, values);
      round_group<kElement>(values, pairs[i]);
    }
    write(static_cast<u32>(group), paired, pairs);
  }
}

}  // namespace gemmsmith_kernels
