// lt_tiles.h -- cuBLASLt's tile and cluster identifiers as sizes.
#pragma once

namespace gemmsmith {

// In the library's column-major m and n. Both 0 for an identifier that is unknown or means "any".
struct TileShape {
  int m = 0;
  int n = 0;
  bool operator==(const TileShape&) const = default;
};

TileShape tile_shape(int tile_id);        // cublasLtMatmulTile_t
TileShape cluster_shape(int cluster_id);  // cublasLtClusterShape_t, in CTAs

}  // namespace gemmsmith
