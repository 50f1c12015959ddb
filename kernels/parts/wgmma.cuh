// wgmma.cuh -- what surrounds the warpgroup matrix instruction: when results and operands are
// whose. The instruction itself, for this config's N, types and layout, is the generated
// wgmma_config.cuh. How operands lie in shared memory, and their descriptors: operand_slab.cuh.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

// Orders earlier register accesses of the accumulators before the instructions that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Returns once all but the newest `kPending` groups have finished with operands and accumulators.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving or copying accumulators across asynchronous instructions.
template <int kCount>
__device__ __forceinline__ void wgmma_pin(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

template <int kCount>
__device__ __forceinline__ void wgmma_pin(u32 (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

}  // namespace gemmsmith_kernels
