// tma.cuh -- the tensor memory accelerator: whole boxes of a matrix between global and shared
// memory.
//
// One thread issues; the copy runs on its own. A load reports its bytes to an mbarrier; what lies
// outside the matrix arrives as zeros and counts as bytes all the same. A store is clipped to the
// matrix. x counts along the contiguous dimension, y along the other, both in elements. Tensor maps
// with kDimensions = 3 have the matrices of a batch, counted by z, as their third dimension.
#pragma once

#include "parts/args.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

__device__ __forceinline__ void tma_prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

template <int kDimensions>
__device__ __forceinline__ void tma_load(u32 destination, const TensorMap& map, u32 barrier, int x,
                                         int y, int z) {
  if constexpr (kDimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y)
        : "memory");
  }
}

// Brings a box into L2 and no further. A hint: it reads nothing that a later load could see stale.
template <int kDimensions>
__device__ __forceinline__ void tma_prefetch(const TensorMap& map, int x, int y, int z) {
  if constexpr (kDimensions == 3) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map),
                 "r"(x), "r"(y), "r"(z)
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map),
                 "r"(x), "r"(y)
                 : "memory");
  }
}

// The same box into the same offset of every CTA whose bit is set in `mask`; each CTA's own barrier
// at that offset is told.
template <int kDimensions>
__device__ __forceinline__ void tma_load_multicast(u32 destination, const TensorMap& map,
                                                   u32 barrier, int x, int y, int z, u16 mask) {
  if constexpr (kDimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(mask)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y), "h"(mask)
        : "memory");
  }
}

template <int kDimensions>
__device__ __forceinline__ void tma_store(const TensorMap& map, u32 source, int x, int y, int z) {
  if constexpr (kDimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], "
        "[%1];" ::"l"(&map),
        "r"(source), "r"(x), "r"(y), "r"(z)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            &map),
        "r"(source), "r"(x), "r"(y)
        : "memory");
  }
}

// Every thread that wrote shared memory with ordinary stores calls this before the barrier after
// which the issuing thread stores it.
__device__ __forceinline__ void fence_before_tma_store() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Returns once all but the newest `kPending` store groups of this thread have read their source.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

}  // namespace gemmsmith_kernels
