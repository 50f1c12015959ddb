// main.cpp -- the device tests' program is its own worker, as `gemmsmith` is. `gpu_tests
// precompile` fills the cubin cache with the tests' kernels and needs no GPU; `gpu_tests precompile
// batches` with those of BatchTest, BatchBench and GroupedKernels alone, `epilogues` with those of
// EpilogueTest, `f32` with those of Exactness.F32Results, `transposed` with those of
// Exactness.TransposedKernels.
#include <gtest/gtest.h>

#include <string_view>

#include "gpu/kernel_pool.h"
#include "measure/worker.h"

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "worker") return gemmsmith::worker_main(argc - 1, argv + 1);
  if (verb == "precompile") return gemmsmith::gpu::precompile(argc > 2 ? argv[2] : "");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
