// What a config fixes about its launches: the numbers of the kernels' own header comments.
#include "plan/launch_recipe.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/plan_fixtures.h"
#include "space/space.h"

namespace gemmsmith::plan {
namespace {

using test::config_of;
using test::h200;
using test::problem_of;

LaunchRecipe recipe_of(const char* config) {
  return make_recipe(config_of(config), Signature{}, h200());
}

TEST(LaunchRecipe, Sm80MmaTakesNoMapsAndNoCluster) {
  const LaunchRecipe recipe = recipe_of("sm80_mma:m128.n64.wm2.wn2.k32.s3.g4.r1");
  EXPECT_EQ(recipe.tile_m, 128);
  EXPECT_EQ(recipe.tile_n, 64);
  EXPECT_EQ(recipe.cluster(), 1);
  EXPECT_EQ(recipe.threads, 128);
  EXPECT_EQ(recipe.shared_bytes, 3 * (128 + 64) * 32 * 2);
  EXPECT_EQ(recipe.group, 4);
  EXPECT_EQ(recipe.raster, 1);
  EXPECT_FALSE(recipe.has_tensor_maps());
  EXPECT_EQ(recipe.resident_ctas, 0);
}

TEST(LaunchRecipe, Sm90WsSlicesWhatAClusterShares) {
  const LaunchRecipe recipe = recipe_of("sm90_ws:w2.m128.n256.cm2.cn2.s3");
  EXPECT_EQ(recipe.cluster(), 4);
  EXPECT_EQ(recipe.box_rows_a, 64) << "A's rows are shared by the cluster's columns";
  EXPECT_EQ(recipe.box_rows_b, 128) << "B's rows are shared by the cluster's rows";
  EXPECT_EQ(recipe.box_columns_b, 64);
  EXPECT_EQ(recipe.box_rows_d, 64) << "each warpgroup stores its own";
  EXPECT_EQ(recipe.box_columns_d, 64);
  EXPECT_EQ(recipe.programmatic, 1);
}

TEST(LaunchRecipe, BoxOfAnF32DHas32ColumnsAtMost) {
  Signature signature;
  signature.f32_output = true;
  const auto columns = [&](const char* text) {
    return make_recipe(config_of(text), signature, h200()).box_columns_d;
  };
  EXPECT_EQ(columns("sm90_ws:n128"), 32);
  EXPECT_EQ(columns("sm90_ws:n48"), 16);
  EXPECT_EQ(columns("sm90_ws:n8"), 8);
}

TEST(LaunchRecipe, BoxOfDIsTheWidestThatDividesAConsumersColumns) {
  EXPECT_EQ(recipe_of("sm90_ws:n128").box_columns_d, 64);
  EXPECT_EQ(recipe_of("sm90_ws:n96").box_columns_d, 32);
  EXPECT_EQ(recipe_of("sm90_ws:n48").box_columns_d, 16);
  EXPECT_EQ(recipe_of("sm90_ws:n8").box_columns_d, 8);
  EXPECT_EQ(recipe_of("sm90_ws:w2.m64.n48").box_columns_d, 8) << "each consumer has 24 columns";
  EXPECT_EQ(recipe_of("sm90_ws:w2.pp1.m64.n48").box_columns_d, 16) << "pingpong has them all";
}

// kernels/parts/operand_slab.cuh: lines of k, in boxes of the widest row that divides the tile.
TEST(LaunchRecipe, OperandsWithoutContiguousKAreSharedOutByLinesOfK) {
  const auto recipe_in = [](const char* config, Layout layout) {
    return make_recipe(config_of(config), {DataType::kF16, DataType::kF32, layout}, h200());
  };
  const LaunchRecipe both = recipe_in("sm90_ws:w2.m128.n192.cm2.cn4.s2", Layout::kNT);
  EXPECT_EQ(both.box_rows_a, 16) << "64 lines among the cluster's columns";
  EXPECT_EQ(both.box_rows_b, 32) << "and among its rows";
  EXPECT_EQ(both.box_columns_b, 64);
  const LaunchRecipe only_a = recipe_in("sm90_ws:w2.m128.n96.s2", Layout::kNN);
  EXPECT_EQ(only_a.box_rows_a, 64);
  EXPECT_EQ(only_a.box_rows_b, 96);
  EXPECT_EQ(only_a.box_columns_b, 64) << "of k";
  EXPECT_EQ(recipe_in("sm90_ws:n96.s2", Layout::kTT).box_columns_b, 32);
  EXPECT_EQ(recipe_in("sm90_ws:n48.s2", Layout::kTT).box_columns_b, 16);
}

TEST(LaunchRecipe, DirectStoresTakeNoMapOfD) {
  EXPECT_FALSE(recipe_of("sm90_ws:n128.e1").stores_by_tma());
  EXPECT_TRUE(recipe_of("sm90_ws:n128.e1").has_tensor_maps());
}

TEST(LaunchRecipe, SplitKIsTheCluster) {
  const LaunchRecipe recipe = recipe_of("sm90_ws:n128.e1.sp1.sk4");
  EXPECT_EQ(recipe.cluster(), 4);
  EXPECT_EQ(recipe.box_rows_a, 64);
  EXPECT_EQ(recipe.box_rows_b, 128);
}

// kernels/parts/split_workspace.cuh: every CTA leaves its whole tile, every warp has a counter.
TEST(LaunchRecipe, SplitThroughTheWorkspaceIsNoCluster) {
  const LaunchRecipe recipe = recipe_of("sm90_ws:w2.m128.n128.s6.e1.sp2.sk8");
  EXPECT_EQ(recipe.cluster(), 1);
  EXPECT_EQ(recipe.split_k, 8);
  EXPECT_TRUE(recipe.uses_workspace());
  EXPECT_EQ(recipe.partial_bytes, 128 * 128 * 4);
  EXPECT_EQ(recipe.tile_counters, 8);
  EXPECT_EQ(recipe.shared_bytes, 6 * (128 + 128) * 64 * 2 + 16 * 6) << "stages and barriers only";
  EXPECT_FALSE(recipe.stores_by_tma());
  EXPECT_FALSE(recipe_of("sm90_ws:n128.e1.sp1.sk4").uses_workspace());
  const LaunchRecipe half =
      make_recipe(config_of("sm90_ws:n32.e1.sp2.sk8"), {DataType::kF16, DataType::kF16}, h200());
  EXPECT_EQ(half.partial_bytes, 64 * 32 * 2);
  EXPECT_EQ(half.tile_counters, 4);
}

TEST(LaunchRecipe, PersistentCtasFillTheDeviceInWholeClusters) {
  EXPECT_EQ(recipe_of("sm90_ws:w2.m128.n256.s4.ps1").resident_ctas, 132);
  EXPECT_EQ(recipe_of("sm90_ws:w2.m128.n256.s4.cm2.ps1").resident_ctas, 132);
  const LaunchRecipe small = recipe_of("sm80_mma:m64.n64.k32.s3.ps1");
  EXPECT_EQ(small.resident_ctas, 132 * (233472 / (small.shared_bytes + 1024)));
}

// For every legal config that a seed reaches: what the device and the reader of a plan table
// demand.
TEST(LaunchRecipe, EveryLegalConfigGivesALaunchTheDeviceCanTake) {
  const Problem problems[] = {problem_of(1, 1, 8), problem_of(64, 4096, 64),
                              problem_of(200, 136, 1000), problem_of(8192, 8192, 8192)};
  std::mt19937_64 rng(1);
  int seen = 0;
  for (const Problem& problem : problems) {
    for (const Family* family : kernel_families()) {
      enumerate(*family, {problem, h200()}, [&](const Config& config) {
        if (rng() % 64 != 0) return true;
        const LaunchRecipe recipe = make_recipe(config, signature_of(problem), h200());
        const std::string text = to_text(config);
        EXPECT_TRUE(recipe.threads % 32 == 0 && recipe.threads <= 1024) << text;
        EXPECT_LE(recipe.shared_bytes, h200().shared_bytes_per_block) << text;
        EXPECT_LE(recipe.cluster(), 16) << text;
        EXPECT_EQ(recipe.resident_ctas % recipe.cluster(), 0) << text;
        if (recipe.has_tensor_maps()) {
          EXPECT_EQ(recipe.box_rows_a * recipe.cluster_n, recipe.tile_m) << text;
          EXPECT_EQ(recipe.box_rows_b * recipe.cluster_m, recipe.tile_n) << text;
          EXPECT_LE(std::max(recipe.box_rows_a, recipe.box_rows_b), 256) << text;
        }
        return ++seen < 20000;
      });
    }
  }
  EXPECT_GT(seen, 1000);
}

}  // namespace
}  // namespace gemmsmith::plan
