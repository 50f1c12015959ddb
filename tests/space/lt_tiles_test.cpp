#include "space/lt_tiles.h"

#include <cublasLt.h>
#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

TEST(LtTiles, AgreeWithTheHeadersNames) {
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_8x8), (TileShape{8, 8}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_64x96), (TileShape{64, 96}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_128x128), (TileShape{128, 128}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_256x128), (TileShape{256, 128}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_128x160), (TileShape{128, 160}));
  EXPECT_EQ(cluster_shape(CUBLASLT_CLUSTER_SHAPE_1x2x1), (TileShape{1, 2}));
  EXPECT_EQ(cluster_shape(CUBLASLT_CLUSTER_SHAPE_4x2x1), (TileShape{4, 2}));
  EXPECT_EQ(cluster_shape(CUBLASLT_CLUSTER_SHAPE_1x15x1), (TileShape{1, 15}));
}

#if CUBLAS_VERSION >= 130000
TEST(LtTiles, KnowTheTilesOfCublas13) {
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_16x64), (TileShape{16, 64}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_352x64), (TileShape{352, 64}));
  EXPECT_EQ(tile_shape(CUBLASLT_MATMUL_TILE_128x152), (TileShape{128, 152}));
}
#endif

TEST(LtTiles, UnknownIdentifiersAreNoShape) {
  for (const int id : {-1, 0, 100000}) {
    EXPECT_EQ(tile_shape(id), (TileShape{0, 0}));
    EXPECT_EQ(cluster_shape(id), (TileShape{0, 0}));
  }
}

}  // namespace
}  // namespace gemmsmith
