#include "plan/launch_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/numbers.h"
#include "problem/matrix_shape.h"
#include "problem/transposed.h"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

using gemmsmith_kernels::TensorMap;
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
static_assert(static_cast<int>(Activation::kNone) == gemmsmith_kernels::kNoActivation &&
              static_cast<int>(Activation::kRelu) == gemmsmith_kernels::kRelu &&
              static_cast<int>(Activation::kGeluTanh) == gemmsmith_kernels::kGeluTanh &&
              static_cast<int>(Activation::kGeluErf) == gemmsmith_kernels::kGeluErf &&
              static_cast<int>(Activation::kSilu) == gemmsmith_kernels::kSilu);

constexpr int kLoadBytes = 16;  // one cp.async, and the unit of TMA's addresses and strides
constexpr int kBoxColumns = 64;
constexpr std::int64_t kMaxCtas = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kCopyAlignment = 128;  // of packed operands in the workspace
constexpr int kPortableCluster = 8;           // larger clusters must be asked for

// The problem as given; errors name its operands.
Result<void> check_strides(const LaunchRecipe& recipe, const Problem& problem) {
  const auto check = [&](const char* operand, const MatrixShape& shape) -> Result<void> {
    const std::int64_t unit = kLoadBytes / shape.element_bytes;
    if (shape.rows > 1 && shape.ld % unit != 0)
      return fail(ErrorCode::kUnsupported,
                  "the kernel cannot launch on {}: ld{} {} is not a multiple of {} elements",
                  describe(problem), operand, shape.ld, unit);
    if (shape.batch > 1 && shape.stride % unit != 0)
      return fail(ErrorCode::kUnsupported,
                  "the kernel cannot launch on {}: stride_{} {} is not a multiple of {} elements",
                  describe(problem), operand, shape.stride, unit);
    return {};
  };
  const bool is_transposed = recipe.transposed == 1;  // the kernel's A is our B
  const int pack_a = is_transposed ? kPackB : kPackA;
  const int pack_b = is_transposed ? kPackA : kPackB;
  const bool wide_a = recipe.element_loads == 0 && (recipe.pack & pack_a) == 0;
  const bool wide_b = recipe.element_loads == 0 && (recipe.pack & pack_b) == 0;
  if (wide_a) GEMMSMITH_CHECK(check("a", stored_a(problem)));
  if (wide_b) GEMMSMITH_CHECK(check("b", stored_b(problem)));
  if (!recipe.stores_by_tma()) return {};
  GEMMSMITH_CHECK(check("d", stored_d(problem)));
  // A TMA store clips at D's edge in whole 16-byte chunks: it would write into the rows' padding.
  const std::int64_t unit = kLoadBytes / size_bytes(problem.output_type());
  if (problem.n % unit == 0) return {};
  return fail(ErrorCode::kUnsupported,
              "the kernel cannot launch on {}: n is not a multiple of {} elements",
              describe(problem), unit);
}

// Leading dimensions as the kernel reads the operands: of the copies where they are packed.
std::int64_t lda_of(const LaunchRecipe& recipe, const Problem& problem) {
  return (recipe.pack & kPackA) != 0 ? packed(stored_a(problem)).ld : problem.lda;
}
std::int64_t ldb_of(const LaunchRecipe& recipe, const Problem& problem) {
  return (recipe.pack & kPackB) != 0 ? packed(stored_b(problem)).ld : problem.ldb;
}

// The tile order, and what tile_at() in the kernels divides by; counts are of clusters.
void fill_order(const LaunchRecipe& recipe, gemmsmith_kernels::GemmArgs& args) {
  using gemmsmith_kernels::reciprocal;
  const auto count_m = static_cast<unsigned>(ceil_div(args.tiles_m, recipe.cluster_m));
  const auto count_n = static_cast<unsigned>(ceil_div(args.tiles_n, recipe.cluster_n));
  const bool along_m = args.raster == gemmsmith_kernels::kRasterAlongM;
  const unsigned minor_count = along_m ? count_m : count_n;
  const unsigned major_count = along_m ? count_n : count_m;
  // A wider band than there are tiles is the same order, but its size might not fit 32 bits.
  const unsigned group = std::min(static_cast<unsigned>(args.group), minor_count);
  args.group = static_cast<int>(group);
  const unsigned left = minor_count % group;
  args.band_reciprocal = reciprocal(group * major_count);
  args.width_reciprocal = reciprocal(group);
  args.last_width_reciprocal = reciprocal(left == 0 ? group : left);
  args.matrix_reciprocal = reciprocal(count_m * count_n);
  args.split_reciprocal = reciprocal(static_cast<unsigned>(args.split_k));
}

void fill_args(const LaunchRecipe& recipe, const Problem& problem,
               gemmsmith_kernels::GemmArgs& args) {
  args.lda = lda_of(recipe, problem);
  args.ldb = ldb_of(recipe, problem);
  args.ldc = problem.ldc;
  args.ldd = problem.ldd;
  args.alpha = problem.alpha;
  args.beta = problem.beta;
  args.m = static_cast<int>(problem.m);
  args.n = static_cast<int>(problem.n);
  args.k = static_cast<int>(problem.k);
  args.tiles_m = static_cast<int>(ceil_div(problem.m, recipe.tile_m));
  args.tiles_n = static_cast<int>(ceil_div(problem.n, recipe.tile_n));
  args.group = recipe.group;
  args.raster = recipe.raster;
  args.split_k = recipe.split_k;
  args.prefetch_k_tiles = recipe.prefetch_k_tiles;
  args.batch = static_cast<int>(problem.batch);
  args.activation = static_cast<int>(problem.activation);
  if (problem.grouped) args.stride_b = problem.stride_b;
  if (problem.is_batched()) {
    args.stride_a = problem.stride_a;
    args.stride_b = problem.stride_b;
    args.stride_c = problem.stride_c;
    args.stride_d = problem.stride_d;
  }
  fill_order(recipe, args);
}

// The stored matrix of an operand with `size` rows (of A; of B: columns), as the boxes of
// kernels/parts/operand_slab.cuh.
TensorMapShape operand_map(bool along_k, std::int64_t size, std::int64_t k, std::int64_t ld,
                           int box_rows, int box_columns) {
  return {along_k ? size : k, along_k ? k : size, ld, box_rows, box_columns};
}

// Of a single row no stride is ever used, but one that TMA takes is asked for.
void settle_stride(TensorMapShape& map) {
  if (map.rows <= 1) map.ld = round_up(map.columns, kBoxColumns);
}

// An operand that the whole batch shares is one matrix, whose stride is not used either.
void add_matrices(const MatrixShape& operand, TensorMapShape& map) {
  map.matrices = operand.distinct();
  map.stride = map.matrices == 1 ? map.rows * map.ld : operand.stride;
}

// `problem` as the kernel computes it, `stored` as D lies in memory.
void fill_maps(const LaunchRecipe& recipe, const Problem& problem, const Problem& stored,
               LaunchPlan& plan) {
  if (!recipe.has_tensor_maps()) return;
  plan.has_tensor_maps = true;
  plan.map_a = operand_map(a_is_k_contiguous(problem.layout), problem.m, problem.k, plan.args.lda,
                           recipe.box_rows_a, kBoxColumns);
  plan.map_b = operand_map(b_is_k_contiguous(problem.layout), problem.n, problem.k, plan.args.ldb,
                           recipe.box_rows_b, recipe.box_columns_b);
  settle_stride(plan.map_a);
  settle_stride(plan.map_b);
  if (problem.is_batched()) add_matrices(stored_a(problem), plan.map_a);
  if (problem.is_batched() || problem.grouped) add_matrices(stored_b(problem), plan.map_b);
  if (!recipe.stores_by_tma()) return;
  plan.stores_by_tma = true;
  plan.map_d = {stored.m, stored.n, stored.ldd, recipe.box_rows_d, recipe.box_columns_d};
  settle_stride(plan.map_d);
  if (stored.is_batched()) add_matrices(stored_d(stored), plan.map_d);
}

Result<void> add_packing(const LaunchRecipe& recipe, const Problem& problem, LaunchPlan& plan) {
  if (recipe.pack == 0) return {};
  if (problem.is_batched() || problem.grouped)
    return fail(ErrorCode::kUnsupported, "the kernel cannot launch on {}: it packs single matrices",
                describe(problem));
  plan.packing = make_packing(recipe.pack, problem, round_up(plan.workspace_bytes, kCopyAlignment));
  plan.workspace_bytes = plan.packing.end;
  // The kernel counts chunks in 32 bits; and nobody gives so much workspace.
  if (plan.workspace_bytes <= std::numeric_limits<std::int32_t>::max()) return {};
  return fail(ErrorCode::kUnsupported,
              "{} takes {} bytes of workspace for packed operands: more than a launch can pack",
              describe(problem), plan.workspace_bytes);
}

CUtensorMapDataType map_type(DataType type) {
  switch (type) {
    case DataType::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::kBf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DataType::kF32:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

CUtensorMapSwizzle swizzle_of(int row_bytes) {
  switch (row_bytes) {
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

Result<void> encode(const Driver& driver, const TensorMapShape& shape, DataType type,
                    const void* pointer, const char* operand, TensorMap& map) {
  const int element_bytes = size_bytes(type);
  const std::array<cuuint64_t, 3> sizes = {static_cast<cuuint64_t>(shape.columns),
                                           static_cast<cuuint64_t>(shape.rows),
                                           static_cast<cuuint64_t>(shape.matrices)};
  const std::array<cuuint64_t, 2> strides = {static_cast<cuuint64_t>(shape.ld * element_bytes),
                                             static_cast<cuuint64_t>(shape.stride * element_bytes)};
  const std::array<cuuint32_t, 3> box = {static_cast<cuuint32_t>(shape.box_columns),
                                         static_cast<cuuint32_t>(shape.box_rows), 1};
  const std::array<cuuint32_t, 3> steps = {1, 1, 1};
  CUtensorMap encoded = {};  // not in place: CUDA 13 aligns its type to 128 bytes
  const CUresult result = driver.TensorMapEncodeTiled(
      &encoded, map_type(type), shape.matrices > 0 ? 3 : 2, const_cast<void*>(pointer),
      sizes.data(), strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle_of(shape.box_columns * element_bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) {
    std::memcpy(&map, &encoded, sizeof map);
    return {};
  }
  return fail(
      ErrorCode::kDevice, "cannot encode the tensor map of {} ({} x {}, ld {}{}, box {} x {}): {}",
      operand, shape.rows, shape.columns, shape.ld,
      shape.matrices > 0 ? fmt::format(", {} matrices, stride {}", shape.matrices, shape.stride)
                         : "",
      shape.box_rows, shape.box_columns, describe(driver, result));
}

Result<void> check_pointer(const void* pointer, int alignment, const char* operand) {
  if (pointer == nullptr) return fail(ErrorCode::kBadInput, "{} is a null pointer", operand);
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(alignment) == 0) return {};
  return fail(ErrorCode::kBadInput,
              "{} = {} is not a multiple of {} bytes, which this kernel's loads or stores need",
              operand, pointer, alignment);
}

Result<void> add_workspace(const LaunchRecipe& recipe, const Problem& problem, std::int64_t tiles,
                           LaunchPlan& plan) {
  const std::int64_t counters = tiles * recipe.tile_counters;
  if (counters > kMostCounters)
    return fail(ErrorCode::kUnsupported,
                "{} has {} tiles of {}x{}: more than can wait for each other at once",
                describe(problem), tiles, recipe.tile_m, recipe.tile_n);
  plan.splits = static_cast<unsigned>(recipe.split_k);
  plan.counters = static_cast<int>(counters);
  plan.workspace_bytes = tiles * recipe.split_k * recipe.partial_bytes;
  return {};
}

// Makes the launch pack into the workspace, and the kernel read there.
Result<void> point_at_copies(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                             void* workspace) {
  const Packing& packing = plan.packing;
  if (!packing.is_needed()) return {};
  set_copies(packing, workspace, bound.pack);
  char* const start = static_cast<char*>(workspace);
  if (packing.packs_a) {
    bound.args.a = start + packing.at_a;
    if (plan.has_tensor_maps)
      GEMMSMITH_CHECK(encode(driver, plan.map_a, plan.type, bound.args.a, "A", bound.map_a));
  }
  if (packing.packs_b) {
    bound.args.b = start + packing.at_b;
    if (plan.has_tensor_maps)
      GEMMSMITH_CHECK(encode(driver, plan.map_b, plan.type, bound.args.b, "B", bound.map_b));
  }
  return {};
}

CUresult launch_pack(const Driver& driver, const LaunchPlan& plan,
                     gemmsmith_kernels::PackArgs& args, CUfunction function, CUstream stream) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = plan.packing.grid;
  config.gridDimY = plan.packing.operands;
  config.gridDimZ = 1;
  config.blockDimX = gemmsmith_kernels::kPackThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = plan.programmatic ? 1 : 0;
  void* parameters[] = {&args};
  return driver.LaunchKernelEx(&config, function, parameters, nullptr);
}

// CTAs of this launch that the current device holds at once.
Result<std::int64_t> resident_ctas(const Driver& driver, const LaunchPlan& plan,
                                   CUfunction function) {
  int count = 0;
  if (plan.cluster > 1) {
    LaunchAttributes attributes = {};
    const CUlaunchConfig config = launch_config(plan, nullptr, attributes);
    GEMMSMITH_CHECK(check(driver, driver.OccupancyMaxActiveClusters(&count, function, &config),
                          "asking how many clusters fit the device"));
    return static_cast<std::int64_t>(count) * plan.cluster;
  }
  GEMMSMITH_CHECK(check(driver,
                        driver.OccupancyMaxActiveBlocksPerMultiprocessor(
                            &count, function, static_cast<int>(plan.block), plan.shared_bytes),
                        "asking how many blocks fit an SM"));
  CUdevice device = 0;
  int sm_count = 0;
  GEMMSMITH_CHECK(check(driver, driver.CtxGetDevice(&device), "asking for the current device"));
  GEMMSMITH_CHECK(
      check(driver,
            driver.DeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
            "asking for the number of SMs"));
  return static_cast<std::int64_t>(count) * sm_count;
}

}  // namespace

CUlaunchConfig launch_config(const LaunchPlan& plan, CUstream stream,
                             LaunchAttributes& attributes) {
  CUlaunchConfig config = {};
  config.gridDimX = plan.grid;
  config.gridDimY = plan.splits;
  config.gridDimZ = 1;
  config.blockDimX = plan.block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = plan.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  if (plan.cluster > 1) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = plan.cluster;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  }
  // All CTAs or none: two launches that each held a part of the device would wait for ever.
  if (plan.counters > 0) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  if (plan.programmatic) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

Result<LaunchPlan> make_launch_plan(const Config& config, const Problem& problem,
                                    const Target& target) {
  if (config.family->footprint == nullptr)
    return fail(ErrorCode::kUnsupported, "{} is not a kernel of ours: no launch plan",
                to_text(config));
  if (const Constraint* rule = broken_rule({problem, target}, config); rule != nullptr)
    return fail(ErrorCode::kUnsupported, "{} is not legal for {} on {}: {} ({})", to_text(config),
                describe(problem), target.name, rule->id, rule->reason);
  return make_launch_plan(make_recipe(config, signature_of(problem), target), problem);
}

Result<LaunchPlan> make_launch_plan(const LaunchRecipe& recipe, const Problem& stored) {
  if (stored.is_empty() || stored.k == 0)
    return fail(ErrorCode::kUnsupported, "{} has no product to compute", describe(stored));
  GEMMSMITH_CHECK(check_strides(recipe, stored));
  const Problem problem = recipe.transposed == 1 ? transposed(stored) : stored;
  LaunchPlan plan;
  plan.transposed = recipe.transposed == 1;
  fill_args(recipe, problem, plan.args);
  // Each group may leave a tile that is not full: an upper bound.
  const std::int64_t tiles_m =
      plan.args.tiles_m + (problem.grouped ? std::min(problem.batch, problem.m) : 0);
  const std::int64_t matrix_clusters =
      ceil_div(tiles_m, recipe.cluster_m) * ceil_div(plan.args.tiles_n, recipe.cluster_n);
  const std::int64_t matrices = problem.is_batched() ? problem.batch : 1;
  // Kernels count tiles in 32 bits, a step beyond the last one included.
  if (matrix_clusters > kMaxCtas / recipe.cluster() / matrices)
    return fail(
        ErrorCode::kUnsupported, "{} has {}{} tiles of {}x{}: more than a grid can count",
        describe(problem), problem.is_batched() ? fmt::format("{} times ", problem.batch) : "",
        matrix_clusters * recipe.cluster_m * recipe.cluster_n, recipe.tile_m, recipe.tile_n);
  const std::int64_t clusters = matrix_clusters * matrices;
  const std::int64_t ctas = clusters * recipe.cluster();
  plan.persistent = recipe.resident_ctas > 0;
  plan.grid = static_cast<unsigned>(
      plan.persistent && ctas > recipe.resident_ctas ? recipe.resident_ctas : ctas);
  plan.block = static_cast<unsigned>(recipe.threads);
  plan.cluster = static_cast<unsigned>(recipe.cluster());
  plan.shared_bytes = static_cast<unsigned>(recipe.shared_bytes);
  if (recipe.uses_workspace()) GEMMSMITH_CHECK(add_workspace(recipe, problem, clusters, plan));
  plan.programmatic = recipe.programmatic == 1;
  plan.type = problem.type;
  plan.output = problem.output_type();
  plan.grouped = problem.grouped;
  plan.has_bias = problem.has_bias;
  fill_maps(recipe, problem, stored, plan);
  const int element_bytes = size_bytes(problem.type);
  const int output_bytes = size_bytes(plan.output);
  GEMMSMITH_CHECK(add_packing(recipe, problem, plan));
  const auto load_bytes = [&](bool is_packed) {
    return is_packed || recipe.element_loads == 1 ? element_bytes : kLoadBytes;
  };
  plan.needs = {load_bytes(plan.packing.packs_a), load_bytes(plan.packing.packs_b), output_bytes,
                plan.stores_by_tma ? kLoadBytes : output_bytes};
  if (plan.transposed) std::swap(plan.needs.a, plan.needs.b);
  return plan;
}

Result<BoundLaunch> bind(const Driver& driver, const LaunchPlan& plan, const Operands& given) {
  GEMMSMITH_CHECK(check_pointer(given.a, plan.needs.a, "A"));
  GEMMSMITH_CHECK(check_pointer(given.b, plan.needs.b, "B"));
  Operands operands = given;
  if (plan.transposed) std::swap(operands.a, operands.b);
  GEMMSMITH_CHECK(check_pointer(operands.d, plan.needs.d, "D"));
  if (plan.grouped)
    GEMMSMITH_CHECK(check_pointer(operands.group_ends, sizeof *operands.group_ends, "group_ends"));
  if (plan.has_bias)
    GEMMSMITH_CHECK(check_pointer(operands.bias, size_bytes(plan.output), "the bias"));
  const bool may_read_c = plan.args.beta != 0 || plan.args.beta_device != nullptr;
  if (may_read_c || operands.c != nullptr)
    GEMMSMITH_CHECK(check_pointer(operands.c, plan.needs.c, "C"));
  BoundLaunch bound = {};
  bound.args = plan.args;
  bound.args.a = operands.a;
  bound.args.b = operands.b;
  bound.args.c = operands.c;
  bound.args.d = operands.d;
  bound.args.group_ends = operands.group_ends;
  bound.args.bias = plan.has_bias ? operands.bias : nullptr;
  bound.pack = plan.packing.args;
  set_sources(plan.packing, operands.a, operands.b, bound.pack);
  if (plan.has_tensor_maps && !plan.packing.packs_a)
    GEMMSMITH_CHECK(encode(driver, plan.map_a, plan.type, operands.a, "A", bound.map_a));
  if (plan.has_tensor_maps && !plan.packing.packs_b)
    GEMMSMITH_CHECK(encode(driver, plan.map_b, plan.type, operands.b, "B", bound.map_b));
  if (plan.stores_by_tma)
    GEMMSMITH_CHECK(encode(driver, plan.map_d, plan.output, operands.d, "D", bound.map_d));
  return bound;
}

Result<void> use_scratch(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                         const Scratch& scratch) {
  bound.args.counters = scratch.counters;
  if (bound.args.workspace == scratch.workspace) return {};
  // Set again once everything points there: what failed half way must not launch.
  bound.args.workspace = nullptr;
  GEMMSMITH_CHECK(point_at_copies(driver, plan, bound, scratch.workspace));
  bound.args.workspace = scratch.workspace;
  return {};
}

CUresult launch(const Driver& driver, const LaunchPlan& plan, BoundLaunch& bound,
                const Functions& functions, CUstream stream) {
  if ((plan.workspace_bytes > 0 && bound.args.workspace == nullptr) ||
      (plan.counters > 0 && bound.args.counters == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  if (plan.packing.is_needed()) {
    const CUresult packed = launch_pack(driver, plan, bound.pack, functions.pack, stream);
    if (packed != CUDA_SUCCESS) return packed;
  }
  LaunchAttributes attributes = {};
  const CUlaunchConfig config = launch_config(plan, stream, attributes);
  void* with_maps[] = {&bound.map_a, &bound.map_b, &bound.map_d, &bound.args};
  void* without_maps[] = {&bound.args};
  return driver.LaunchKernelEx(&config, functions.gemm,
                               plan.has_tensor_maps ? with_maps : without_maps, nullptr);
}

Result<void> prepare(const Driver& driver, LaunchPlan& plan, CUfunction function) {
  // Raised, never lowered: plans that differ in launch-time split_k share a function and need
  // different amounts.
  int limit = 0;
  GEMMSMITH_CHECK(check(
      driver,
      driver.FuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function),
      "asking for a kernel's shared memory limit"));
  if (limit < static_cast<int>(plan.shared_bytes))
    GEMMSMITH_CHECK(
        check(driver,
              driver.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(plan.shared_bytes)),
              "raising a kernel's shared memory limit"));
  if (plan.cluster > kPortableCluster)
    GEMMSMITH_CHECK(check(
        driver,
        driver.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        "allowing clusters above 8"));
  if (!plan.persistent && plan.counters == 0) return {};
  GEMMSMITH_TRY(const std::int64_t resident, resident_ctas(driver, plan, function));
  if (plan.counters > 0) {
    const std::int64_t ctas = std::int64_t{plan.grid} * plan.splits;
    if (ctas <= resident) return {};
    return fail(ErrorCode::kDevice,
                "{} blocks that wait for each other do not fit the device at once: it holds {}",
                ctas, resident);
  }
  if (resident < plan.cluster)
    return fail(
        ErrorCode::kDevice,
        "a cluster of {} blocks with {} bytes of shared memory each does not fit the device",
        plan.cluster, plan.shared_bytes);
  if (plan.grid > resident) plan.grid = static_cast<unsigned>(resident);
  return {};
}

}  // namespace gemmsmith::plan
