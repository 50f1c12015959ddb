// launch_plan.h -- config + problem -> everything a launch needs but the pointers: grid, block,
// cluster, shared memory, kernel arguments and the shapes of the tensor maps.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device/driver.h"
#include "kernels/parts/args.cuh"
#include "space/family.h"

namespace gemmsmith::plan {

// What cuTensorMapEncodeTiled needs besides the base pointer: a row-major rows x columns matrix
// seen in boxes of box_rows x box_columns elements, 128-byte swizzled.
struct TensorMapShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  // elements
  int box_rows = 0;
  int box_columns = 0;
};

struct LaunchPlan {
  unsigned grid = 1;
  unsigned block = 0;
  unsigned cluster = 1;  // CTAs a cluster, along x
  unsigned shared_bytes = 0;
  bool programmatic = false;  // programmatic dependent launch
  bool has_tensor_maps = false;
  DataType type = DataType::kF16;
  TensorMapShape map_a, map_b, map_d;
  bool stores_by_tma = false;  // map_d is used
  gemmsmith_kernels::GemmArgs args = {};  // pointers null, scalars from the problem
};

// Fails (kUnsupported, naming the rule) where a constraint forbids the config for the problem.
Result<LaunchPlan> make_launch_plan(const Config& config, const Problem& problem,
                                    const Target& target);

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};

// A plan bound to pointers: ready to launch any number of times, on any stream. Plain data, 64-byte
// aligned; holds no resource.
struct alignas(64) BoundLaunch {
  gemmsmith_kernels::TensorMap map_a, map_b, map_d;
  gemmsmith_kernels::GemmArgs args;
};

// Encodes tensor maps. kBadInput where a pointer is null or misaligned for them: names the operand.
Result<BoundLaunch> bind(const Driver& driver, const LaunchPlan& plan, const Operands& operands);

// One cuLaunchKernelEx. No allocation, no lock. Raises the function's shared memory limit is the
// caller's task, once, with prepare().
CUresult launch(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                CUfunction function, CUstream stream);

// Sets the function's dynamic shared memory limit and allows clusters above 8. Once after loading.
Result<void> prepare(const Driver& driver, const LaunchPlan& plan, CUfunction function);

}  // namespace gemmsmith::plan
