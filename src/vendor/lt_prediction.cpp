#include "vendor/lt_prediction.h"

#include <algorithm>
#include <limits>

#include "vendor/lt_model.h"

namespace gemmsmith::vendor {
namespace {

// Fitted to tuned cuBLASLt's times on an H200 (the 1000-shape grid, f16): what a launch costs
// beside the kernel, and what short kernels take longer than the model of long ones says.
constexpr double kLaunchUs = 1.0;
constexpr double kShortShare = 0.4;
constexpr double kMostShortUs = 1.5;

constexpr int kSides[] = {8, 16, 32, 64, 96, 128, 192, 256};
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
constexpr int kTileK = 64;

}  // namespace

double predicted_lt_us(const Problem& problem, const Target& target) {
  const ColumnMajor view = column_major(problem);
  double cycles = std::numeric_limits<double>::infinity();
  for (const int m : kSides)
    for (const int n : kSides) {
      const TileShape tile{m, n};
      if (!is_plausible_tile(tile)) continue;
      for (const int split : kSplits) {
        if (split > 1 && problem.k < std::int64_t{split} * kTileK) break;
        cycles = std::min(cycles, predicted_cycles(view, target, {tile, {1, 1}, split}));
      }
    }
  const double us = cycles / sustained_clock_mhz(target);
  return us + kLaunchUs + std::min(kMostShortUs, kShortShare * us);
}

}  // namespace gemmsmith::vendor
