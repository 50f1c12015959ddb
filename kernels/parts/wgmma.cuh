// wgmma.cuh -- what surrounds the warpgroup matrix instruction: operand descriptors, and when
// results and operands are whose. The instruction itself, for this config's N and types, is the
// generated wgmma_config.cuh.
//
// Operands lie in shared memory as slabs of [rows][64 elements]: 128 bytes a row, in the 128-byte
// swizzle that TMA writes (16-byte chunk index xor row mod 8).
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kSlabElems = 64;  // one row of a slab: 128 bytes, the widest swizzle's span
constexpr int kSlabRowBytes = 128;
constexpr int kWgmmaK = 16;  // k of one instruction for 16-bit elements

// A K-major, 128-byte-swizzled operand at a 1024-byte-aligned shared address. Fields (in 16-byte
// units): start address; leading offset, ignored in this layout; 1024 bytes from one group of 8
// rows to the next; swizzle mode 1. Moving along k or down the rows adds bytes / 16 to the low
// word.
__device__ __forceinline__ u64 wgmma_descriptor(u32 address) {
  constexpr u64 kLeading = 1ull << 16;
  constexpr u64 kStride = static_cast<u64>(1024 >> 4) << 32;
  constexpr u64 kSwizzle128 = 1ull << 62;
  return kSwizzle128 | kStride | kLeading | static_cast<u64>((address & 0x3ffffu) >> 4);
}

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
