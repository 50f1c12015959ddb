// fake_driver.h -- what tests may ask the fake libcuda (fake_driver.cpp) besides the driver API.
// Loaded through GEMMSMITH_LIBCUDA; device memory is host memory and every call finishes at once.
//
// Environment, read at each call:
//   FAKE_CUDA_VERSION=13000       what cuDriverGetVersion answers
//   FAKE_CUDA_INIT=100            what cuInit answers (a CUresult)
//   FAKE_CUDA_DEVICES=1           number of devices
//   FAKE_CUDA_CAPABILITY=90       compute capability
//   FAKE_CUDA_NAME="NVIDIA H200"
//   FAKE_CUDA_FAIL=cuMemAlloc_v2=2[,cuLaunchKernelEx=700]   functions that fail, and how
//   FAKE_CUDA_GLOBAL_CAPTURE=1    another thread captures: loading needs the mode RELAXED
//   FAKE_CUDA_RESIDENT_CLUSTERS=66  FAKE_CUDA_BLOCKS_PER_SM=1
//
// A cubin is a text. One that begins with "fake sm90_ws" or "fake sm80_mma" has a kernel "gemm"
// which, launched, computes D = alpha * A * B + beta * C in layout TN from its GemmArgs (f16; bf16
// where the text goes on with " bf16"); "fake pack" has a kernel "pack" that copies as
// kernels/pack.cu does; any other text that begins with "fake" has a kernel "gemm" that does
// nothing.
#pragma once

#include <cstdint>

// What the fake's cuTensorMapEncodeTiled writes into the 128 bytes of a map.
struct FakeTensorMap {
  const void* address;
  std::uint64_t columns;
  std::uint64_t rows;
  std::uint64_t stride_bytes;
  std::uint32_t box_columns;
  std::uint32_t box_rows;
  std::uint32_t swizzle;       // CUtensorMapSwizzle
  std::uint32_t data_type;     // CUtensorMapDataType
  std::uint32_t l2_promotion;  // CUtensorMapL2promotion
  std::uint32_t dimensions;
  std::uint64_t matrices;  // of three dimensions
  std::uint64_t matrix_stride_bytes;
};

// A launch that really ran (not captured).
struct FakeLaunch {
  std::int64_t count;  // launches of any kernel up to this one
  unsigned grid;
  unsigned splits;  // along y
  unsigned block;
  unsigned cluster;  // 1 where the launch had no cluster attribute
  unsigned shared_bytes;
  int programmatic;
  int cooperative;
  int parameters;  // pointers the kernel took: 1 or 4
};

extern "C" {
// Found with dlsym. The latest launch of a kernel "gemm", and of a kernel "pack".
void fake_cuda_last_launch(FakeLaunch* launch);
void fake_cuda_last_pack(FakeLaunch* launch);
std::int64_t fake_cuda_live_allocations();
}
