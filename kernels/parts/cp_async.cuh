// cp_async.cuh -- Ampere's asynchronous copies from global to shared memory, 16 bytes a thread.
//
// Copies are gathered into groups in program order; a thread waits for its own copies only, so a
// barrier must follow before it may read what other threads copied.
#pragma once

#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kCopyBytes = 16;
constexpr int kCopyElements = 8;  // of 16 bits

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// cp.async.cg (around L1), all 16 bytes. Both addresses on 16-byte boundaries.
__device__ __forceinline__ void copy_async(u32 destination, const void* source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
               :
               : "r"(destination), "l"(source)
               : "memory");
}

// The same for the first source_bytes (0..16), zeros for the rest; with 0 the source is not
// touched. Some eight instructions more than the full copy, so only for the end of k.
__device__ __forceinline__ void copy_async_or_zero(u32 destination, const void* source,
                                                   u32 source_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(destination), "l"(source), "r"(source_bytes)
               : "memory");
}

// cp.async.commit_group: closes the group of copies issued since the last call (it may be empty).
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// cp.async.wait_group: until at most kPending of this thread's youngest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace gemmsmith_kernels
