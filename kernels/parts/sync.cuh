// sync.cuh -- who waits for whom besides mbarriers: named barriers of a CTA, the cluster's barrier,
// warp-uniform values, and the register hand-over between warpgroups.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// A value that is the same in all lanes, told to the compiler: it then lives in a uniform register,
// which is where wgmma wants its descriptors.
__device__ __forceinline__ u32 uniform(u32 value) { return __shfl_sync(0xffffffffu, value, 0); }

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Named barrier `id` (1..15; 0 is __syncthreads) over `threads` threads: wait, or only be counted.
__device__ __forceinline__ void named_barrier_sync(u32 id, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_barrier_arrive(u32 id, u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The cluster's barrier, in two halves so that work fits in between. Not the .aligned forms:
// callers come from loops whose lanes may have parted.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

// The first half where a peer need only know that this thread runs, or that its barriers are
// initialised (fence_mbarrier_init() has published those). The releasing form fences the whole GPU:
// some 500 clocks from a cold start.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// setmaxnreg: a warpgroup gives registers back to the SM, or takes what others gave back.
template <int kRegisters>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace gemmsmith_kernels
