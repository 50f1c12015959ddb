// tile_order.h -- in which order a kernel computes the tiles of D: kernels/parts/tile_order.cuh in
// host code, for models of what runs at the same time. A test compares the two.
#pragma once

#include <cstdint>

namespace gemmsmith::policy {

// Counts are of tiles or, with clusters, of clusters' blocks of tiles.
struct TileOrder {
  std::int64_t count_m = 1;
  std::int64_t count_n = 1;
  std::int64_t group = 1;  // tiles of the minor dimension side by side, at least 1
  bool along_n = false;    // n is the minor dimension, not m
};

struct TilePlace {
  std::int64_t m = 0;
  std::int64_t n = 0;
  bool operator==(const TilePlace&) const = default;
};

// The `index`-th tile, 0 <= index < count_m * count_n.
TilePlace tile_at(const TileOrder& order, std::int64_t index);

}  // namespace gemmsmith::policy
