// launch_plan.h -- config + problem -> everything a launch needs but the pointers: grid, block,
// cluster, shared memory, kernel arguments and the shapes of the tensor maps.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "device/driver.h"
#include "kernels/parts/args.cuh"
#include "plan/launch_recipe.h"
#include "plan/packing.h"
#include "space/family.h"

namespace gemmsmith::plan {

// What cuTensorMapEncodeTiled needs besides the base pointer: a row-major rows x columns matrix
// seen in boxes of box_rows x box_columns elements. The swizzle spans one row of the box: 128, 64
// or 32 bytes, none for 16. A batch's map has its matrices as a third dimension.
struct TensorMapShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  // elements
  int box_rows = 0;
  int box_columns = 0;
  std::int64_t matrices = 0;  // 0: a map of two dimensions
  std::int64_t stride = 0;    // elements from one matrix to the next
};

struct LaunchPlan {
  unsigned grid = 1;    // along x
  unsigned splits = 1;  // along y: CTAs that meet through the workspace
  unsigned block = 0;
  unsigned cluster = 1;  // CTAs a cluster, along x
  unsigned shared_bytes = 0;
  bool programmatic = false;  // programmatic dependent launch
  bool transposed = false;    // the kernel's A is the operands' B, and the other way round
  bool has_tensor_maps = false;
  bool grouped = false;              // Operands::group_ends is read
  bool has_bias = false;             // Operands::bias is read
  DataType type = DataType::kF16;    // of A and B
  DataType output = DataType::kF16;  // of C, D and the bias
  TensorMapShape map_a, map_b, map_d;
  bool stores_by_tma = false;        // map_d is used
  bool persistent = false;           // the grid is bounded by what the device holds at once
  std::int64_t workspace_bytes = 0;  // partial sums, then packed operands
  int counters = 0;  // that CTAs meet through: such a launch is cooperative. 0: they do not meet
  Packing packing;   // of the kernel's operands
  Alignment needs = {};                   // bytes that the base pointers must be multiples of
  gemmsmith_kernels::GemmArgs args = {};  // pointers null, scalars from the problem
};

// Fails (kUnsupported, naming the rule) where a constraint forbids the config for the problem.
Result<LaunchPlan> make_launch_plan(const Config& config, const Problem& problem,
                                    const Target& target);

// The launch of a recipe on a problem whose signature its kernel was compiled for: arithmetic only.
// Fails (kUnsupported) where the problem is empty, has more tiles than a grid can count, or has
// strides the recipe's loads cannot take.
Result<LaunchPlan> make_launch_plan(const LaunchRecipe& recipe, const Problem& stored);

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  // Of a grouped problem, on the device: where each group's rows end.
  const std::int32_t* group_ends = nullptr;
  // Of a problem with a bias, on the device.
  const void* bias = nullptr;
};

// Counters that a launch may need at most: 4 warps of each of 2 consumers, a tile for every second
// CTA of the largest device.
constexpr int kMostCounters = 4096;

// What a plan with workspace_bytes needs beside its operands. Launches that may run at the same
// time must not share it. The workspace may hold anything and be used by others in between; the
// counters must be zero before their first use and are then left to the kernels, whichever they
// are.
struct Scratch {
  void* workspace = nullptr;  // a multiple of 128 bytes
  unsigned* counters = nullptr;
};

// A plan bound to pointers: ready to launch any number of times, on any stream. Plain data, 64-byte
// aligned; holds no resource.
struct alignas(64) BoundLaunch {
  gemmsmith_kernels::TensorMap map_a, map_b, map_d;
  gemmsmith_kernels::GemmArgs args;
  gemmsmith_kernels::PackArgs pack;
};

// Encodes tensor maps. kBadInput where a pointer is null or misaligned for the plan: names the
// operand. C may be null where beta is 0 and lives on the host, the bias where the problem has
// none. The scratch is set by use_scratch().
Result<BoundLaunch> bind(const Driver& driver, const LaunchPlan& plan, const Operands& operands);

// Before launching a plan with workspace_bytes, which the scratch must have. Costs nothing while
// the workspace stays the same; else what is packed gets new tensor maps.
Result<void> use_scratch(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                         const Scratch& scratch);

// What a plan's launches run. `pack` may be null where nothing is packed.
struct Functions {
  CUfunction gemm = nullptr;
  CUfunction pack = nullptr;
};

// A cluster or a cooperative launch, and programmatic serialisation.
using LaunchAttributes = std::array<CUlaunchAttribute, 2>;

// The shape and attributes of the kernel's launch; `attributes` must outlive the result. For those
// who time the driver's call alone: launch() does the rest.
CUlaunchConfig launch_config(const LaunchPlan& plan, CUstream stream, LaunchAttributes& attributes);

// One cuLaunchKernelEx, or two where operands are packed. No allocation, no lock. The function must
// have been through prepare(). CUDA_ERROR_INVALID_VALUE where the plan's scratch is missing.
CUresult launch(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                const Functions& functions, CUstream stream);

// Once after loading: sets the function's dynamic shared memory limit, allows clusters above 8, and
// lowers a persistent plan's grid to what the device holds at once: CTAs beyond that would start
// after the others have finished. Errors: kDevice, also where not even one cluster fits, or not all
// of the CTAs that wait for each other.
Result<void> prepare(const Driver& driver, LaunchPlan& plan, CUfunction function);

}  // namespace gemmsmith::plan
