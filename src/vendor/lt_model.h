// lt_model.h -- how promising a configuration of cuBLASLt looks before it is measured: a wave and
// byte model over its tile, split and cluster. It only orders candidates.
#pragma once

#include "problem/target.h"
#include "space/lt_tiles.h"
#include "vendor/blas_types.h"

namespace gemmsmith::vendor {

struct LtCandidateShape {
  TileShape tile;
  TileShape cluster = {1, 1};
  int split_k = 1;
};

// The clock that predicted cycles are of.
double sustained_clock_mhz(const Target& target);

// Predicted SM cycles, comparable among candidates of one problem.
double predicted_cycles(const ColumnMajor& problem, const Target& target,
                        const LtCandidateShape& candidate);

// Tiles that Hopper's kernels of the library win with: one side a whole number of 64-row wgmmas,
// not above 256 x 128 in area.
bool is_plausible_tile(TileShape tile);

}  // namespace gemmsmith::vendor
