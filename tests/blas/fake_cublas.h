// fake_cublas.h -- a cuBLAS for tests of the preloaded library: a shared library with the real
// one's soname that multiplies on the host and keeps what its handles were told.
#pragma once

#include <atomic>
#include <cstddef>

struct FakeCublas {
  std::atomic<int> gemm_calls{0};  // of any hooked function
  std::atomic<int> last_batch{0};  // -1: pointer arrays
  std::atomic<int> workspace_calls{0};
  std::atomic<const void*> last_alpha{nullptr};  // as it came
  // While set, GemmEx multiplies by calling cublasLtMatmul, as the real one does.
  std::atomic<bool> works_through_lt{false};
};

extern "C" __attribute__((visibility("default"))) FakeCublas* fake_cublas_state();
