// mbarrier.cuh -- barriers in shared memory that count arrivals and bytes; one PTX instruction
// each.
//
// A barrier's phase completes when all expected arrivals and all expected bytes have come. A waiter
// names the parity of the phase it waits for: the first phase has parity 0, and waiting for parity
// 1 on a fresh barrier returns at once (which is how a producer finds every stage free at the
// start). Barriers are named by their 32-bit shared-memory address.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the cluster and to the asynchronous copy engine. (The
// general fence.proxy.async would wait for all memory operations of the thread.)
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// One arrival that also announces `bytes` to come through the asynchronous proxy.
__device__ __forceinline__ void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// The address, in CTA `rank` of this cluster, of what `address` is here.
__device__ __forceinline__ u32 peer_address(u32 address, u32 rank) {
  u32 peer;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address), "r"(rank));
  return peer;
}

// An arrival at a barrier of any CTA in the cluster; `barrier` comes from peer_address(). It
// publishes no ordinary stores of this thread to the peer: `.release.cluster` would, and costs a
// fence of the whole GPU (MEMBAR.ALL.GPU) at each.
__device__ __forceinline__ void mbarrier_arrive_peer(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// try_wait sleeps in hardware for a while before it gives up, so the loop is not a hot spin.
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace gemmsmith_kernels
