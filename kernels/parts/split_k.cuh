// split_k.cuh -- partial sums of one tile, spread over a cluster and added up through distributed
// shared memory.
//
// CTA r of the cluster multiplies the r-th slice of the k tiles. The accumulators' groups of 8
// columns (see wgmma_fragment.cuh) are then dealt out: every CTA sends each group, in f32, to its
// owner and the owner adds the ranks in ascending order, so results are the same in every run, and
// stores its groups.
//
//   rank 0: groups 0 1 2 3 --- 2 3 --st.async--> rank 1's exchange, counted by its mbarrier
//   rank 1: groups 0 1 2 3 --- 0 1 --st.async--> rank 0's exchange
//
// The exchange is memory of its own, so nobody waits for a peer's main loop before sending; the
// only cluster barrier (are the peers' mbarriers set up?) was begun at the start of the kernel.
#pragma once

#include "parts/args.cuh"
#include "parts/mbarrier.cuh"
#include "parts/store_direct.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

constexpr int kExchangeGroupBytes =
    128 * 16;  // one group: 4 floats from each thread of a warpgroup

// First group of `rank`; those up to the next rank's first are its own. May be empty.
__host__ __device__ constexpr int split_first_group(int rank, int groups, int ranks) {
  return (rank * groups + ranks - 1) / ranks;
}

__device__ __forceinline__ int split_owner(int group, int groups, int ranks) {
  return group * ranks / groups;
}

// Bytes of exchange one warpgroup needs: from each peer as many groups as an owner can have.
__host__ __device__ constexpr int split_exchange_bytes(int groups, int ranks) {
  return (ranks - 1) * ((groups + ranks - 1) / ranks) * kExchangeGroupBytes;
}

// What `rank` will receive; the number its mbarrier must expect.
__device__ __forceinline__ u32 split_received_bytes(int rank, int groups, int ranks) {
  const int own =
      split_first_group(rank + 1, groups, ranks) - split_first_group(rank, groups, ranks);
  return static_cast<u32>((ranks - 1) * own * kExchangeGroupBytes);
}

// st.async: 16 bytes into a peer's shared memory, counted by the peer's mbarrier.
__device__ __forceinline__ void send_group(u32 peer_destination, u32 peer_barrier,
                                           const float (&values)[4]) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(peer_destination),
      "r"(peer_barrier), "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3])
      : "memory");
}

__device__ __forceinline__ void load_group(u32 address, float (&values)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address));
}

// Exchanges and stores a warpgroup's (64 * kRowBlocks) x (8 * kBlockGroups) accumulators, whose
// first element is D[row][column]. `exchange` and `barrier` are this warpgroup's.
template <int kElement, int kBlockGroups, int kRowBlocks, class Accumulator, int kCount>
__device__ __forceinline__ void split_reduce_and_store(
    const GemmArgs& args, Scale scale, int rank, int row, int column, u32 exchange, u32 barrier,
    const Accumulator (&blocks)[kRowBlocks][kCount]) {
  constexpr int kGroups = kRowBlocks * kBlockGroups;
  const int ranks = args.split_k;
  const u32 capacity = static_cast<u32>((kGroups + ranks - 1) / ranks);
  const u32 thread = threadIdx.x % 128;

#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const int owner = split_owner(group, kGroups, ranks);
    if (owner == rank) continue;
    float values[4];
    fragment_group(blocks[group / kBlockGroups], group % kBlockGroups, values);
    const u32 slot = static_cast<u32>(rank < owner ? rank : rank - 1);
    const u32 place = static_cast<u32>(group - split_first_group(owner, kGroups, ranks));
    const u32 address = exchange + (slot * capacity + place) * kExchangeGroupBytes + thread * 16;
    send_group(peer_address(address, static_cast<u32>(owner)),
               peer_address(barrier, static_cast<u32>(owner)), values);
  }

  mbarrier_wait_cluster(barrier, 0);
  const bool aligned = pairs_are_aligned(args);
  const int lane = static_cast<int>(thread % 32);
  const int fragment_row = row + static_cast<int>(16 * (thread / 32)) + lane / 4;
  const int fragment_column = column + 2 * (lane % 4);
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    if (split_owner(group, kGroups, ranks) != rank) continue;
    const u32 place = static_cast<u32>(group - split_first_group(rank, kGroups, ranks));
    float own[4];
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    fragment_group(blocks[group / kBlockGroups], group % kBlockGroups, own);
#pragma unroll 4
    for (int source = 0; source < ranks; ++source) {
      float part[4];
      if (source == rank) {
#pragma unroll
        for (int i = 0; i < 4; ++i) part[i] = own[i];
      } else {
        const u32 slot = static_cast<u32>(source < rank ? source : source - 1);
        load_group(exchange + (slot * capacity + place) * kExchangeGroupBytes + thread * 16, part);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += part[i];
    }
    u32 pairs[2];
    const int at_row = fragment_row + 64 * (group / kBlockGroups);
    const int at_column = fragment_column + 8 * (group % kBlockGroups);
    scale_group<kElement>(args, scale, at_row, at_column, sum);
    round_group<kElement>(sum, pairs);
    store_group(args, aligned, at_row, at_column, pairs);
  }
}

}  // namespace gemmsmith_kernels
