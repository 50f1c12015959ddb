// launch_recipe.h -- what a config fixes about its launches, whatever the sizes and leading
// dimensions: plain data of one size, so that a plan table holds it as it is and serving a problem
// needs neither the config's text nor its family.
#pragma once

#include <cstdint>

#include "problem/problem.h"
#include "problem/target.h"
#include "space/family.h"

namespace gemmsmith::plan {

// The numbers of the families' header comments (kernels/sm90_ws.cu, kernels/sm80_mma.cu). All but
// `transposed` and the box of D speak of the product that the kernel computes.
struct LaunchRecipe {
  std::int32_t tile_m = 0;
  std::int32_t tile_n = 0;
  std::int32_t cluster_m = 1;  // of tiles that share loads; 1 x 1 with split_k > 1
  std::int32_t cluster_n = 1;
  std::int32_t split_k = 1;  // CTAs that share one tile: of a cluster, unless partial_bytes > 0
  std::int32_t group = 1;
  std::int32_t raster = 0;
  std::int32_t threads = 0;
  std::int32_t shared_bytes = 0;
  // Persistent kernels: CTAs the device can hold at once, which bounds the grid. 0: not persistent.
  std::int32_t resident_ctas = 0;
  // Boxes of the tensor maps, in elements; 0 where the kernel takes none. Lines of k where the
  // operand's k is not contiguous.
  std::int32_t box_rows_a = 0;
  std::int32_t box_rows_b = 0;
  std::int32_t box_columns_b = 0;
  std::int32_t box_rows_d = 0;
  std::int32_t box_columns_d = 0;     // 0: D is not stored by TMA
  std::int16_t programmatic = 0;      // 1: programmatic dependent launch
  std::int16_t prefetch_k_tiles = 0;  // asked of L2 before the predecessor has finished
  std::int16_t pack = 0;              // operands that are copied first (space/packing.h)
  std::int16_t transposed = 0;        // 1: computes D^T = B^T A^T (space/kernel_problem.h)
  std::int32_t element_loads = 0;     // 1: reads operands of any base and leading dimension
  // Split-K through a workspace: bytes of a CTA's partial sums in it, and counters of a tile. 0:
  // none.
  std::int32_t partial_bytes = 0;
  std::int32_t tile_counters = 0;

  bool operator==(const LaunchRecipe&) const = default;

  bool uses_workspace() const { return partial_bytes > 0; }
  std::int32_t cluster() const { return cluster_m * cluster_n * (uses_workspace() ? 1 : split_k); }
  bool has_tensor_maps() const { return box_rows_a > 0; }
  bool stores_by_tma() const { return box_columns_d > 0; }
};

// The config must be legal on the target (broken_rule of space/family.h).
LaunchRecipe make_recipe(const Config& config, const Signature& signature, const Target& target);

}  // namespace gemmsmith::plan
