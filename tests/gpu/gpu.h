// gpu.h -- what device tests share. They run on a machine with a GPU and are skipped elsewhere.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "device/cuda.h"
#include "gpu/kernel_pool.h"
#include "measure/cuda_bench.h"
#include "measure/kernel_provider.h"

// Ends the test as skipped where there is no GPU (or no driver), saying what was looked for.
#define GEMMSMITH_NEEDS_GPU()                               \
  do {                                                      \
    if (auto gpu = ::gemmsmith::CudaContext::open(0); !gpu) \
      GTEST_SKIP() << "unavailable: " << gpu.error().what;  \
  } while (false)

namespace gemmsmith::gpu {

// The architecture NVRTC compiles for on device 0.
inline std::string architecture() {
  const auto driver = load_driver();
  if (!driver) return "";
  const auto info = query_device(**driver, 0);
  if (!info) return "";
  const auto name = compile_architecture(info->target.compute_capability);
  return name ? *name : "";
}

// A bench in this very process, for launches that can be trusted.
inline Result<std::unique_ptr<CudaBench>> open_cuda_bench(const BenchSettings& settings) {
  GEMMSMITH_TRY(const std::unique_ptr<NvrtcKernels> kernels, NvrtcKernels::open());
  GEMMSMITH_TRY(const std::string harness, kernels->utility_cubin("harness.cu", architecture()));
  GEMMSMITH_TRY(const std::string reference,
                kernels->utility_cubin("reference.cu", architecture()));
  GEMMSMITH_TRY(const std::string pack, kernels->utility_cubin("pack.cu", architecture()));
  return CudaBench::open(0, settings, {harness, reference, pack}, "gpu-tests");
}

// A file of the repository: the program may have been carried away from where it was built, and is
// then run in the repository's root.
inline std::string repository_path(const std::string& file) {
  const std::string built = std::string(GEMMSMITH_SOURCE_DIR "/") + file;
  return std::filesystem::exists(built) ? built : file;
}

// Where tables of results go: GEMMSMITH_GPU_RESULTS, else the working folder.
inline std::string results_path(const std::string& file) {
  const char* const folder = std::getenv("GEMMSMITH_GPU_RESULTS");
  return (folder != nullptr ? std::string(folder) : std::string(".")) + "/" + file;
}

}  // namespace gemmsmith::gpu
