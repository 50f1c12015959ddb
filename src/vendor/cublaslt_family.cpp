#include "vendor/cublaslt_family.h"

#include <algorithm>
#include <cstring>

#include "space/lt_tiles.h"

namespace gemmsmith::vendor {
namespace {

// How each parameter is stored in an algorithm.
struct Attribute {
  std::string_view parameter;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::size_t bytes;
};

constexpr Attribute kAttributes[] = {
    {"algo", CUBLASLT_ALGO_CONFIG_ID, 4},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {"inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
};

bool split_needs_reduction(const SpaceContext&, const Config& config) {
  return config.at("split_k") == 1 || config.at("reduction") != CUBLASLT_REDUCTION_SCHEME_NONE;
}

bool reduction_is_one_scheme(const SpaceContext&, const Config& config) {
  const int scheme = config.at("reduction");
  return scheme == CUBLASLT_REDUCTION_SCHEME_NONE || scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE ||
         scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
         scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
}

bool split_has_work(const SpaceContext& context, const Config& config) {
  return config.at("split_k") >= 1 &&
         config.at("split_k") <= std::max<std::int64_t>(1, context.problem.k);
}

bool cluster_needs_hopper(const SpaceContext& context, const Config& config) {
  const TileShape cluster = cluster_shape(config.at("cluster"));
  return context.target.compute_capability >= 90 || cluster.m * cluster.n <= 1;
}

Family make_family() {
  Family family;
  family.name = "cublaslt";
  // The values are those that won on an H200 (lt_space.cpp); the library's queries know the rest.
  const auto parameter = [&](std::string_view name, std::string_view code, int default_value,
                             std::vector<int> values) {
    family.parameters.push_back({name, code, Binding::kLaunch, default_value, std::move(values)});
  };
  parameter("algo", "a", 0, {66});
  parameter(
      "tile", "t", CUBLASLT_MATMUL_TILE_UNDEFINED,
      {CUBLASLT_MATMUL_TILE_8x64, CUBLASLT_MATMUL_TILE_32x64, CUBLASLT_MATMUL_TILE_64x64,
       CUBLASLT_MATMUL_TILE_64x128, CUBLASLT_MATMUL_TILE_128x64, CUBLASLT_MATMUL_TILE_128x128,
       CUBLASLT_MATMUL_TILE_256x64, CUBLASLT_MATMUL_TILE_128x256, CUBLASLT_MATMUL_TILE_256x128,
       CUBLASLT_MATMUL_TILE_64x96, CUBLASLT_MATMUL_TILE_96x64, CUBLASLT_MATMUL_TILE_96x128,
       CUBLASLT_MATMUL_TILE_128x160, CUBLASLT_MATMUL_TILE_128x96});
  parameter("stages", "s", CUBLASLT_MATMUL_STAGES_UNDEFINED, {CUBLASLT_MATMUL_STAGES_64xAUTO});
  parameter("split_k", "k", 1, {1, 2, 4, 8, 16});
  parameter("reduction", "r", CUBLASLT_REDUCTION_SCHEME_NONE,
            {CUBLASLT_REDUCTION_SCHEME_NONE, CUBLASLT_REDUCTION_SCHEME_INPLACE,
             CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE});
  parameter("swizzle", "w", 0, {0});
  parameter("custom", "c", 0, {0, 1, 2, 3});
  parameter("inner_shape", "i", CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED,
            {CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED});
  parameter(
      "cluster", "g", CUBLASLT_CLUSTER_SHAPE_AUTO,
      {CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_4x1x1,
       CUBLASLT_CLUSTER_SHAPE_1x2x1, CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_4x2x1});
  family.constraints = {
      {"split_has_work", "split-K must be between 1 and k", {"split_k"}, split_has_work},
      {"split_needs_reduction",
       "split-K leaves partial sums, so it needs a reduction scheme",
       {"split_k", "reduction"},
       split_needs_reduction},
      {"reduction_is_one_scheme",
       "the reduction scheme is one of 0 (none), 1 (in place), 2 (compute type), 4 (output type)",
       {"reduction"},
       reduction_is_one_scheme},
      {"cluster_needs_hopper",
       "thread block clusters came with compute capability 9.0",
       {"cluster"},
       cluster_needs_hopper},
  };
  return family;
}

}  // namespace

const Family& cublaslt_family() {
  static const Family family = make_family();
  return family;
}

std::int64_t workspace_bound(const std::string& config, std::int64_t limit) {
  return config.find(".k") == std::string::npos ? 0 : limit;
}

Result<Config> to_config(const LtFunctions& lt, const cublasLtMatmulAlgo_t& algo) {
  Config config = default_config(cublaslt_family());
  for (std::size_t i = 0; i < std::size(kAttributes); ++i) {
    std::uint32_t wide = 0;
    std::uint16_t narrow = 0;
    void* value = kAttributes[i].bytes == 4 ? static_cast<void*>(&wide) : &narrow;
    std::size_t written = 0;
    GEMMSMITH_CHECK(check(lt.MatmulAlgoConfigGetAttribute(&algo, kAttributes[i].attribute, value,
                                                          kAttributes[i].bytes, &written),
                          "reading a cuBLASLt algorithm"));
    config.values[i] = kAttributes[i].bytes == 4 ? static_cast<int>(wide) : narrow;
  }
  return config;
}

Result<LtAlgo> to_algo(const Config& config, const LtMatmul& matmul) {
  const LtHandle& handle = matmul.handle();
  const Problem& problem = matmul.problem();
  const cudaDataType_t type = cuda_type(problem.type);
  const cudaDataType_t output = cuda_type(problem.output_type());
  cublasLtMatmulAlgo_t algo = {};
  if (const cublasStatus_t status = handle.lt().MatmulAlgoInit(
          handle.get(), compute_type(problem.accumulator), scale_type(problem.accumulator), type,
          type, output, output, config.at("algo"), &algo);
      status != CUBLAS_STATUS_SUCCESS)
    return fail(ErrorCode::kUnsupported, "cuBLASLt {} has no algorithm {} for {}/{}: {}",
                handle.library().version(), config.at("algo"), name(problem.type),
                name(problem.accumulator), describe(status));
  for (std::size_t i = 1; i < std::size(kAttributes); ++i) {
    // AlgoInit has set the documented defaults, which are the family's.
    if (config.values[i] == config.family->parameters[i].default_value) continue;
    const auto wide = static_cast<std::uint32_t>(config.values[i]);
    const auto narrow = static_cast<std::uint16_t>(config.values[i]);
    const void* value = kAttributes[i].bytes == 4 ? static_cast<const void*>(&wide) : &narrow;
    if (const cublasStatus_t status = handle.lt().MatmulAlgoConfigSetAttribute(
            &algo, kAttributes[i].attribute, value, kAttributes[i].bytes);
        status != CUBLAS_STATUS_SUCCESS)
      return fail(ErrorCode::kUnsupported, "{}: cuBLASLt {} refuses {} = {}: {}", to_text(config),
                  handle.library().version(), kAttributes[i].parameter, config.values[i],
                  describe(status));
  }
  auto checked = matmul.check(algo);
  if (!checked) return fail(checked.error().code, "{}: {}", to_text(config), checked.error().what);
  return checked;
}

}  // namespace gemmsmith::vendor
