#include "plan/launch_recipe.h"

#include <algorithm>
#include <utility>

#include "space/kernel_problem.h"

namespace gemmsmith::plan {
namespace {

constexpr int kSlabLines = 64;        // of k, in one slab (kernels/parts/operand_slab.cuh)
constexpr int kSwizzledColumns = 64;  // 128 bytes of 16-bit elements: the widest box of a map
constexpr int kStoreRows = 64;        // a warpgroup stores its own (kernels/parts/store_tma.cuh)
constexpr int kSplitThroughWorkspace = 2;
constexpr int kWarpsOfConsumer = 4;
constexpr int kMaxCtasPerSm = 32;
constexpr int kReservedSharedBytes = 1024;  // the driver's own, for each CTA

int value_or(const Config& config, std::string_view parameter, int otherwise) {
  return config.family->index_of(parameter) < 0 ? otherwise : config.at(parameter);
}

// An upper bound: how many registers a kernel takes is known after compiling only, so prepare()
// lowers it to what the driver says.
int resident_ctas(const LaunchRecipe& recipe, const Target& target) {
  const int by_shared = target.shared_bytes_per_sm / (recipe.shared_bytes + kReservedSharedBytes);
  const int by_threads = target.max_threads_per_sm / recipe.threads;
  const int per_sm = std::max(1, std::min({by_shared, by_threads, kMaxCtasPerSm}));
  const int clusters = per_sm * target.sm_count / recipe.cluster();
  return std::max(1, clusters) * recipe.cluster();
}

// Columns of the tile that one consumer of sm90_ws stores.
int consumer_columns(const Config& config) {
  const bool halves_columns =
      config.at("consumers") == 2 && config.at("schedule") == 0 && config.at("tile_m") % 128 != 0;
  return halves_columns ? config.at("tile_n") / 2 : config.at("tile_n");
}

// The widest box of a map, in columns, that divides `columns`; at most `most`, whose bytes are 128.
int widest_box(int columns, int most) {
  int box = most;
  while (columns % box != 0) box /= 2;
  return box;
}

void add_tensor_maps(const Config& config, Layout layout, bool f32_output, LaunchRecipe& recipe) {
  // Each CTA of a cluster loads its part of what the cluster shares.
  recipe.box_rows_a = (a_is_k_contiguous(layout) ? recipe.tile_m : kSlabLines) / recipe.cluster_n;
  recipe.box_rows_b = (b_is_k_contiguous(layout) ? recipe.tile_n : kSlabLines) / recipe.cluster_m;
  recipe.box_columns_b =
      b_is_k_contiguous(layout) ? kSwizzledColumns : widest_box(recipe.tile_n, kSwizzledColumns);
  if (config.at("epilogue") != 0 || config.at("split") != 0) return;
  recipe.box_rows_d = kStoreRows;
  recipe.box_columns_d =
      widest_box(consumer_columns(config), f32_output ? kSwizzledColumns / 2 : kSwizzledColumns);
  if (recipe.transposed == 1) std::swap(recipe.box_rows_d, recipe.box_columns_d);
}

// As kernels/parts/split_workspace.cuh lays it out: accumulators as they are, a counter a warp.
void add_workspace(const Config& config, DataType accumulator, LaunchRecipe& recipe) {
  if (config.at("split") != kSplitThroughWorkspace) return;
  const int accumulator_bytes = accumulator == DataType::kF16 ? 2 : 4;
  recipe.partial_bytes = recipe.tile_m * recipe.tile_n * accumulator_bytes;
  recipe.tile_counters = config.at("consumers") * kWarpsOfConsumer;
}

}  // namespace

LaunchRecipe make_recipe(const Config& config, const Signature& signature, const Target& target) {
  const Footprint footprint = config.family->footprint(config, signature);
  LaunchRecipe recipe;
  recipe.tile_m = config.at("tile_m");
  recipe.tile_n = config.at("tile_n");
  recipe.cluster_m = value_or(config, "cluster_m", 1);
  recipe.cluster_n = value_or(config, "cluster_n", 1);
  recipe.split_k = value_or(config, "split_k", 1);
  recipe.group = value_or(config, "group", 1);
  recipe.raster = value_or(config, "raster", 0);
  recipe.programmatic = static_cast<std::int16_t>(value_or(config, "pdl", 0));
  recipe.prefetch_k_tiles =
      static_cast<std::int16_t>(value_or(config, "prefetch", 0) * config.at("stages"));
  recipe.pack = static_cast<std::int16_t>(value_or(config, "pack", 0));
  recipe.transposed = is_transposed(config) ? 1 : 0;
  recipe.element_loads = value_or(config, "loads", 0);
  recipe.threads = footprint.threads;
  recipe.shared_bytes = footprint.shared_bytes;
  if (config.family == &sm90_ws_family()) {
    add_tensor_maps(config, kernel_signature(signature, config).layout, signature.f32_output,
                    recipe);
    add_workspace(config, signature.accumulator, recipe);
  }
  if (value_or(config, "persistent", 0) == 1) recipe.resident_ctas = resident_ctas(recipe, target);
  return recipe;
}

}  // namespace gemmsmith::plan
