// split_workspace.cuh -- partial sums of one tile, spread over CTAs that share nothing but device
// memory and added up through a workspace.
//
// CTA r of a tile's `split_k` multiplies the r-th slice of the k tiles and writes all of its
// accumulators to the workspace. Then the CTAs meet: every warp waits for the same warp of the
// others. Each warp adds up its share of the groups (wgmma_fragment.cuh), the ranks in ascending
// order, so results are the same in every run, and stores it.
//
//   workspace of one tile and warp:   rank 0: group 0 1 2 3 | rank 1: group 0 1 2 3 | ...
//                                     each group: 32 lanes x 16 bytes (f16 accumulators: 8)
//
// Waiting needs all CTAs of a launch on the device at once. The host sees to it that they fit and
// launches cooperatively, so that two such launches never hold half of the device each.
//
// Every thread that comes here has been through wait_for_predecessor(): the launch before, which
// may use the same workspace and counters, has finished by then, however early this one started.
//
// Against a cluster (split_k.cuh): 256x2048x16384 took 31.6 us instead of 39.9 on an H200, because
// clusters do not fill the card and because CTAs that read the same k range run side by side.
#pragma once

#include "parts/args.cuh"
#include "parts/store_direct.cuh"
#include "parts/tile_order.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// What one thread holds of a group, as it lies in the workspace. Past L1, which no other SM writes.
__device__ __forceinline__ void write_part(u64 address, const float (&registers)[4]) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(registers[0]),
               "f"(registers[1]), "f"(registers[2]), "f"(registers[3])
               : "memory");
}

__device__ __forceinline__ void write_part(u64 address, const u32 (&registers)[2]) {
  asm volatile("st.global.cg.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(registers[0]),
               "r"(registers[1])
               : "memory");
}

// Zeros where it does not exist. Predicated, so that a batch of them is issued without a branch.
__device__ __forceinline__ void read_part(u64 address, bool exists, float (&registers)[4]) {
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.b32 exists, %5, 0;\n"
      "mov.f32 %0, 0f00000000;\n"
      "mov.f32 %1, 0f00000000;\n"
      "mov.f32 %2, 0f00000000;\n"
      "mov.f32 %3, 0f00000000;\n"
      "@exists ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=f"(registers[0]), "=f"(registers[1]), "=f"(registers[2]), "=f"(registers[3])
      : "l"(address), "r"(static_cast<int>(exists))
      : "memory");
}

__device__ __forceinline__ void read_part(u64 address, bool exists, u32 (&registers)[2]) {
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.b32 exists, %3, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "@exists ld.global.cg.v2.u32 {%0, %1}, [%2];\n"
      "}"
      : "=r"(registers[0]), "=r"(registers[1])
      : "l"(address), "r"(static_cast<int>(exists))
      : "memory");
}

// Returns once `ranks` callers have come. The counter's upper bit turns when the last one does; the
// others are back at zero then, so that the next launch finds the counter as this one did, with
// whatever number of ranks. (The sums are those of CUDA's own grid barrier: rank 0 adds what the
// others leave to 2^31.) Releases what the warp wrote, acquires what the others did.
__device__ __forceinline__ void meet(unsigned* counter, u32 ranks, bool is_first) {
  constexpr u32 kTurn = 0x80000000u;
  const u32 mine = is_first ? kTurn - (ranks - 1) : 1;
  u32 before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(mine)
               : "memory");
  u32 now = before + mine;
  while (((before ^ now) & kTurn) == 0) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  }
}

template <class Accumulator>
struct PartSize;
template <>
struct PartSize<float> {
  static constexpr int kRegisters = 4;
};
template <>
struct PartSize<u32> {
  static constexpr int kRegisters = 2;
};

// One warp's partial sums of one tile, of all ranks.
template <class Accumulator, int kGroups>
struct WarpParts {
  static constexpr int kRegisters = PartSize<Accumulator>::kRegisters;
  static constexpr u32 kGroupBytes = 32 * kRegisters * 4;
  static constexpr u32 kRankBytes = kGroups * kGroupBytes;
  using Part = Accumulator[kRegisters];

  u64 base;  // of this lane

  // `index` counts warps over all tiles.
  __device__ __forceinline__ WarpParts(const GemmArgs& args, u32 index, u32 lane)
      : base(reinterpret_cast<u64>(args.workspace) +
             static_cast<u64>(index) * static_cast<u32>(args.split_k) * kRankBytes +
             lane * kRegisters * 4) {}
  __device__ __forceinline__ u64 address(int rank, int group) const {
    return base + static_cast<u64>(static_cast<u32>(rank)) * kRankBytes +
           static_cast<u32>(group) * kGroupBytes;
  }
};

__device__ __forceinline__ void add_part(const float (&part)[4], float (&sum)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] += part[i];
}

__device__ __forceinline__ void add_part(const u32 (&part)[2], float (&sum)[4]) {
  float values[4];
  fragment_group(part, 0, values);
  add_part(values, sum);
}

// Where a thread's share of the tile goes, and what is done to its sums.
template <class Finish>
struct ShareTarget {
  Finish finish;
  int row;  // of the thread's first value in group 0
  int column;
  int first;  // groups of this rank: [first, last)
  int last;
};

// `kAtOnce` groups of `kRanks` ranks are asked for before the first is waited for: 16 loads of 16
// bytes a thread are 64 KB in flight from two consumers.
template <int kElement, int kBlockGroups, int kAtOnce, int kRanks, class Parts, class Finish>
__device__ __forceinline__ void add_up_and_store(const GemmArgs& args, const Parts& parts,
                                                 const ShareTarget<Finish>& target) {
  const bool aligned = pairs_are_aligned<kElement>(args);
#pragma unroll 1
  for (int group = target.first; group < target.last; group += kAtOnce) {
    float sums[kAtOnce][4] = {};
#pragma unroll 1
    for (int rank = 0; rank < args.split_k; rank += kRanks) {
      typename Parts::Part read[kAtOnce][kRanks];
      const u64 address = parts.address(rank, group);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int j = 0; j < kRanks; ++j) {
          read_part(address + j * Parts::kRankBytes + i * Parts::kGroupBytes,
                    group + i < target.last && rank + j < args.split_k, read[i][j]);
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int j = 0; j < kRanks; ++j) add_part(read[i][j], sums[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (group + i >= target.last) break;
      const int block = (group + i) / kBlockGroups;
      const int row = target.row + 64 * block;
      const int column = target.column + 8 * (group + i - block * kBlockGroups);
      if (!target.finish.identity())
        finish_group<kElement>(args, target.finish, row, column, sums[i]);
      round_and_store_group<kElement, Finish::kIsTransposed>(args, aligned, row, column, sums[i]);
    }
  }
}

// A consumer warpgroup's 64-row blocks of 8 * kBlockGroups columns, the first of which starts at
// D[row][column], are partial sums of rank `rank`: writes them, waits for the other ranks', adds up
// and stores this rank's share. `warpgroup` counts consumers over all tiles.
template <int kElement, int kBlockGroups, class Finish, int kRowBlocks, class Accumulator,
          int kCount>
__device__ __forceinline__ void split_through_workspace(
    const GemmArgs& args, Finish finish, u32 warpgroup, int rank, int row, int column,
    const Accumulator (&blocks)[kRowBlocks][kCount]) {
  constexpr int kGroups = kRowBlocks * kBlockGroups;
  using Parts = WarpParts<Accumulator, kGroups>;
  constexpr int kRegisters = Parts::kRegisters;
  const u32 warp = threadIdx.x % 128 / 32;
  const u32 lane = threadIdx.x % 32;
  const u32 index = 4 * warpgroup + warp;
  const Parts parts(args, index, lane);
  const u64 mine = parts.address(rank, 0);
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    typename Parts::Part part;
#pragma unroll
    for (int i = 0; i < kRegisters; ++i)
      part[i] = blocks[group / kBlockGroups][group % kBlockGroups * kRegisters + i];
    write_part(mine + group * Parts::kGroupBytes, part);
  }
  const u32 ranks = static_cast<u32>(args.split_k);
  __syncwarp();
  if (lane == 0) meet(args.counters + index, ranks, rank == 0);
  __syncwarp();

  const u32 share = static_cast<u32>(rank) * kGroups;
  ShareTarget<Finish> target;
  target.finish = finish;
  target.row = row + static_cast<int>(16 * warp + lane / 4);
  target.column = column + static_cast<int>(2 * (lane % 4));
  target.first = static_cast<int>(divide(share, ranks, args.split_reciprocal).value);
  target.last = static_cast<int>(divide(share + kGroups, ranks, args.split_reciprocal).value);
  if (ranks <= 4) {
    add_up_and_store<kElement, kBlockGroups, 4, 4>(args, parts, target);
  } else if (ranks <= 8) {
    add_up_and_store<kElement, kBlockGroups, 2, 8>(args, parts, target);
  } else {
    add_up_and_store<kElement, kBlockGroups, 1, 16>(args, parts, target);
  }
}

}  // namespace gemmsmith_kernels
