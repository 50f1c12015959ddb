// stage_floats.cuh -- a fragment's f32 values into rows of shared memory, where stmatrix, which
// moves 16-bit elements, does not help.
//
// A thread stores the two neighbours it holds of a row, 8 bytes; half a warp stores four rows at
// once. The swizzle of a box (stmatrix.cuh) is TMA's: in rows of 128 bytes it leaves the 32 bytes
// of one group in the same banks in rows 0 and 1, and in 2 and 3. So odd rows store the group two
// further first, and that group's turn is theirs for this one; in rows of 64 bytes rows 2 and 3 do
// so with the next group.
//
//   first    row 0: group 0   row 1: group 2   row 2: group 0   row 3: group 2
//   then     row 0: group 2   row 1: group 0   row 2: group 2   row 3: group 0
#pragma once

#include "parts/stmatrix.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

__device__ __forceinline__ void store_shared_pair(u32 address, float low, float high) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(low), "f"(high) : "memory");
}

// Groups `first` .. of a warp's 16 rows, as many as kBoxColumns holds, into the warp's rows of a
// box, which start at `rows`. `first` must be a constant after unrolling.
template <int kBoxColumns, int kCount>
__device__ __forceinline__ void stage_floats(u32 rows, u32 lane, const float (&block)[kCount],
                                             int first) {
  constexpr int kGroups = kBoxColumns / 8;
  constexpr int kRowBytes = kBoxColumns * 4;
  constexpr int kApart = kGroups / 2;  // groups that change places
  const u32 row = lane / 4;
  const bool changes = kGroups == 4 ? (row & 1) != 0 : (row & 2) != 0;
  const auto store = [&](u32 group, float(&pairs)[4]) {
    const u32 chunk = 2 * group + lane % 4 / 2;
    const u32 address = rows + swizzled_offset<kRowBytes>(row, chunk) + lane % 2 * 8;
    store_shared_pair(address, pairs[0], pairs[1]);
    store_shared_pair(address + 8 * kRowBytes, pairs[2], pairs[3]);
  };
  if constexpr (kGroups == 1) {
    float own[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) own[i] = block[4 * first + i];
    store(0, own);
  } else {
#pragma unroll
    for (int group = 0; group < kApart; ++group) {
      float now[4];
      float then[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float here = block[4 * (first + group) + i];
        const float there = block[4 * (first + group + kApart) + i];
        now[i] = changes ? there : here;
        then[i] = changes ? here : there;
      }
      const u32 near = static_cast<u32>(group);
      const u32 far = static_cast<u32>(group + kApart);
      store(changes ? far : near, now);
      store(changes ? near : far, then);
    }
  }
}

}  // namespace gemmsmith_kernels
