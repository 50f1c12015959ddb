// split_k.cuh -- partial sums of one tile, spread over a cluster and added up through distributed
// shared memory.
//
// CTA r of the cluster multiplies the r-th slice of the k tiles. The accumulators' groups of 8
// columns (see wgmma_fragment.cuh) are then dealt out: every CTA sends each group, in f32, to its
// owner's exchange; the owner adds the ranks in ascending order, so results are the same in every
// run, and stores its groups.
//
//   rank 0: groups 0 1 2 3 --- 0 1 ---> rank 0's exchange, slot 0
//                          --- 2 3 ---> rank 1's exchange, slot 0
//   rank 1: groups 0 1 2 3 --- 0 1 ---> rank 0's exchange, slot 1
//                          --- 2 3 ---> rank 1's exchange, slot 1      then the cluster's barrier
//
// The exchange is memory of its own, so nobody waits for a peer's main loop before sending. Plain
// coalesced stores: st.async, which counts every thread's 16 bytes on an mbarrier, took 8 us for
// the 56 KB of a 128 x 128 tile over 8 CTAs (measured on H200).
#pragma once

#include "parts/args.cuh"
#include "parts/mbarrier.cuh"
#include "parts/store_direct.cuh"
#include "parts/sync.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

constexpr u32 kExchangeGroupBytes =
    128 * 16;  // one group: 4 floats from each thread of a warpgroup

// Who owns what of a warpgroup's `groups`: `rank` has those from its first to the next rank's
// first, possibly none.
struct Shares {
  int groups;
  int ranks;
  u32 share;  // 65536 / ranks, rounded up

  __device__ __forceinline__ int owner(int group) const { return group * ranks / groups; }
  __device__ __forceinline__ int first(int rank) const {
    return by_ranks(rank * groups + ranks - 1);
  }
  __device__ __forceinline__ int most() const { return by_ranks(groups + ranks - 1); }
  // x / ranks. Exact while x * ranks < 65536: here x < 17 * 128, ranks <= 16.
  __device__ __forceinline__ int by_ranks(int x) const {
    return static_cast<int>(static_cast<u32>(x) * share >> 16);
  }
  // Where, in the owner's exchange, `source` puts the `place`-th of the owner's groups.
  __device__ __forceinline__ u32 offset(int source, int place) const {
    return static_cast<u32>(source * most() + place) * kExchangeGroupBytes;
  }
  __device__ __forceinline__ u32 exchange_bytes() const {  // of one warpgroup
    return static_cast<u32>(ranks * most()) * kExchangeGroupBytes;
  }
};

// 16 bytes into a peer's shared memory.
__device__ __forceinline__ void send_values(u32 peer_destination, const float (&values)[4]) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(peer_destination),
               "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
}

__device__ __forceinline__ void load_values(u32 address, float (&values)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address));
}

// Sends a warpgroup's groups to their owners. Peers must have started.
template <int kBlockGroups, int kRowBlocks, class Accumulator, int kCount>
__device__ __forceinline__ void split_send(Shares shares, int rank, u32 exchange,
                                           const Accumulator (&blocks)[kRowBlocks][kCount]) {
  const u32 thread_offset = threadIdx.x % 128 * 16;
#pragma unroll
  for (int group = 0; group < kRowBlocks * kBlockGroups; ++group) {
    const int owner = shares.owner(group);
    const u32 offset = shares.offset(rank, group - shares.first(owner));
    float values[4];
    fragment_group(blocks[group / kBlockGroups], group % kBlockGroups, values);
    send_values(peer_address(exchange + offset + thread_offset, static_cast<u32>(owner)), values);
  }
}

// Adds up and stores our groups of a warpgroup's 64-row blocks of 8 * kBlockGroups columns, the
// first of which starts at D[row][column]. What everyone sent must have come.
template <int kElement, int kBlockGroups, class Finish>
__device__ __forceinline__ void split_reduce_and_store(const GemmArgs& args, Finish finish,
                                                       Shares shares, int rank, int row, int column,
                                                       u32 exchange) {
  const bool aligned = pairs_are_aligned<kElement>(args);
  const u32 thread = threadIdx.x % 128;
  const int lane = static_cast<int>(thread % 32);
  row += static_cast<int>(16 * (thread / 32)) + lane / 4;
  column += 2 * (lane % 4);
  const int first = shares.first(rank);
  const int last = shares.first(rank + 1);
  const u32 slot_bytes = shares.offset(1, 0);
#pragma unroll 1
  for (int group = first; group < last; ++group) {
    u32 address = exchange + shares.offset(0, group - first) + thread * 16;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
    for (int source = 0; source < shares.ranks; ++source) {
      float part[4];
      load_values(address, part);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += part[i];
      address += slot_bytes;
    }
    const int at_row = row + 64 * (group / kBlockGroups);
    const int at_column = column + 8 * (group % kBlockGroups);
    if (!finish.identity()) finish_group<kElement>(args, finish, at_row, at_column, sum);
    round_and_store_group<kElement, Finish::kIsTransposed>(args, aligned, at_row, at_column, sum);
  }
}

}  // namespace gemmsmith_kernels
