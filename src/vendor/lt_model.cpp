#include "vendor/lt_model.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace gemmsmith::vendor {
namespace {

// Fitted so that the tile and split which won an exhaustive search on an H200 (f16, f32
// accumulation, TN; 63 shapes where algorithm 66 won) rank early among about 700 plausible ones:
// the winner is the first choice for half of the shapes where it gained more than 0.3 %, and among
// the first ten for five out of six.
constexpr double kFillCycles = 1260;        // launch, prologue, first loads
constexpr double kStepCycles = 37;          // barrier and issue of one K step
constexpr double kTileCycles = 200;         // start and drain of one tile
constexpr double kMmaScale = 1.19;          // over the tensor cores' peak
constexpr double kLoadBytesPerCycle = 97;   // into one SM
constexpr double kMulticastExponent = 0.1;  // how much of a cluster's sharing shows
constexpr double kStoreBytesPerCycle = 25.5;
constexpr double kReduceCycles = 2600;  // of split-K's second kernel
constexpr double kReduceBytesPerCycle = 1250;
constexpr double kWholeWavesBelow = 2.15;  // above, the last wave's raggedness averages out
constexpr double kAspectExponent = 0.06;   // of tiles longer than 2:1
constexpr double kBigTileArea = 24576;     // above, two warpgroups run short of registers
constexpr double kBigTilePenalty = 1.7;
constexpr double kMemoryWeight = 0.8;
constexpr double kMemoryEfficiency = 0.97;  // 4.66 of 4.8 TB/s
constexpr int kTileK = 64;

// Dense 16-bit FLOP of one SM in a cycle: 4096 on Hopper, 2048 on Ampere.
double flop_per_cycle(const Target& target) {
  return target.compute_capability >= 90 ? 4096 : 2048;
}

}  // namespace

double sustained_clock_mhz(const Target& target) {
  constexpr double kOfHighest = 1.75 / 1.98;  // an H200's under load, when the model was fitted
  return target.sm_clock_mhz * kOfHighest;
}

bool is_plausible_tile(TileShape tile) {
  const int longer = std::max(tile.m, tile.n);
  return (tile.m % 64 == 0 || tile.n % 64 == 0) && longer >= 64 && longer <= 512 &&
         tile.m * tile.n <= 32768 && tile.m > 0 && tile.n > 0;
}

double predicted_cycles(const ColumnMajor& problem, const Target& target,
                        const LtCandidateShape& candidate) {
  const double tile_m = candidate.tile.m;
  const double tile_n = candidate.tile.n;
  const auto ctas_along = [](std::int64_t size, int tile, int cluster) {
    return static_cast<double>(round_up(ceil_div(size, tile), cluster));
  };
  const double ctas = ctas_along(problem.m, candidate.tile.m, candidate.cluster.m) *
                      ctas_along(problem.n, candidate.tile.n, candidate.cluster.n) *
                      static_cast<double>(problem.batch) * candidate.split_k;
  const auto steps = static_cast<double>(ceil_div(ceil_div(problem.k, kTileK), candidate.split_k));

  // One side goes through 64-row instructions, whichever wastes less.
  const double issued = std::min(std::max(64.0, tile_m) * tile_n, tile_m * std::max(64.0, tile_n));
  const double mma = issued * 2 * kTileK / flop_per_cycle(target) * kMmaScale;
  const double load_bytes = (tile_m / std::pow(candidate.cluster.n, kMulticastExponent) +
                             tile_n / std::pow(candidate.cluster.m, kMulticastExponent)) *
                            2 * kTileK;
  const double step = std::max(mma, load_bytes / kLoadBytesPerCycle) + kStepCycles;
  const double store = tile_m * tile_n * 2 / kStoreBytesPerCycle;

  const double filled = ctas / std::max(1, target.sm_count);
  const double waves = filled < kWholeWavesBelow ? std::ceil(filled - 1e-9) : filled + 0.5;
  double cycles = kFillCycles + waves * (steps * step + store + kTileCycles);
  const auto batch = static_cast<double>(problem.batch);
  const double outputs = batch * static_cast<double>(problem.m) * static_cast<double>(problem.n);
  if (candidate.split_k > 1)
    cycles += kReduceCycles + outputs * 4 * candidate.split_k / kReduceBytesPerCycle;

  const double bytes = 2 * (outputs + batch * static_cast<double>(problem.k) *
                                          static_cast<double>(problem.m + problem.n));
  const double memory = kFillCycles + bytes / (target.memory_bytes_per_s * kMemoryEfficiency) *
                                          sustained_clock_mhz(target) * 1e6;
  cycles = std::max(cycles, kMemoryWeight * memory + (1 - kMemoryWeight) * cycles);

  const double aspect = std::max(tile_m, tile_n) / std::min(tile_m, tile_n) / 2;
  if (aspect > 1) cycles *= std::pow(aspect, kAspectExponent);
  if (tile_m * tile_n > kBigTileArea) cycles *= kBigTilePenalty;
  return cycles;
}

}  // namespace gemmsmith::vendor
