// pdl.cuh -- programmatic dependent launch: a kernel may start while its predecessor still runs.
//
// Between its start and wait_for_predecessor() a kernel may set up barriers and descriptors, but
// must neither read nor write global tensors: the predecessor may still write what we read, or read
// what we write. Both calls do nothing when the launch did not ask for programmatic serialisation.
//
// sm_80 has neither instruction: there both are empty.
#pragma once

namespace gemmsmith_kernels {

// griddepcontrol.wait: returns once every predecessor grid has finished and its writes are visible.
__device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// griddepcontrol.launch_dependents: the successor may be scheduled once every CTA of this grid has
// said so (or ended). It then waits, in its own wait_for_predecessor(), for this whole grid to
// finish, so an early call is never wrong; call it after wait_for_predecessor(), so that at most
// one successor's CTAs sit beside ours.
__device__ __forceinline__ void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace gemmsmith_kernels
