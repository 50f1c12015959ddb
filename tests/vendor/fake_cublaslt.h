// fake_cublaslt.h -- what the fake library was asked, and what it shall answer. Its one instance
// lives in the module; a test finds it through the symbol fake_cublaslt_state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct FakeCublasLt {
  // Answers.
  std::size_t version = 130100;         // of cuBLASLt
  std::size_t cublas_version = 130100;  // of cuBLAS
  int create_status = 0;
  int matmul_status = 0;
  bool has_hopper_kernels = true;        // algorithm 66
  std::int64_t heuristic_workspace = 0;  // that the first algorithm claims to need
  bool heuristic_finds_none = false;

  // What was asked.
  std::atomic<int> heuristic_calls{0};
  std::atomic<int> check_calls{0};
  std::atomic<int> ids_calls{0};
  std::atomic<int> matmul_calls{0};
  std::atomic<int> live_objects{0};  // handles, descriptors, layouts, preferences
  int requested_algos = 0;
  std::uint64_t workspace_limit = 0;
  std::uint32_t reduction_mask = 0;
  std::uint32_t alignment[4] = {};  // A, B, C, D as the library names them
  int compute_type = 0;             // of the last product
  int scale_type = 0;
  int pointer_mode = 0;
  const void* alpha = nullptr;
  const void* c = nullptr;
  std::size_t workspace_bytes = 0;
  std::int32_t algo[16] = {};             // of the last cublasLtMatmul, by config attribute
  std::vector<std::string> cublas_calls;  // in order
  int gemm_algo = 0;
};
