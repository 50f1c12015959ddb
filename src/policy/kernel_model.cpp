// The model adds up what a CTA does: prologue, k tiles at the slowest of tensor cores, operand
// delivery and latency, epilogue; then rounds of CTAs over the SMs, held against memory traffic.
// What each constant stands for is physical; its value was fitted to screening times on an H200 (25
// of 38 shapes, the other 13 held out; docs/experiments.md), so neighbours that mean nearly the
// same share what was seen of both. They order configs, they do not promise times.
#include "policy/kernel_model.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "space/kernel_problem.h"
#include "space/packing.h"

namespace gemmsmith::policy {
namespace {

// Periods inside a graph, waiting on the predecessor: programmatic launch or plain stream order.
constexpr double kLaunchPdlUs = 0.59;
constexpr double kLaunchPlainUs = 1.1;
// First operands of a cold launch: barrier setup, descriptor fetch, one trip to memory; less what
// programmatic launch hides of it.
constexpr double kFillUs = 0.78;
// cp.async needs no descriptors and no barrier setup.
constexpr double kFillAmpereUs = 0.46;
// Draining the last stores; a TMA store adds its own trip.
constexpr double kDrainUs = 0.12;
// Cluster launch, exchange through DSMEM, and each further rank's turn.
constexpr double kSplitUs = 0.45;
constexpr double kSplitRankUs = 0.09;
constexpr double kClusterUs = 0.3;
// Four trips to L2, one after the other: a fence behind the partial sums, a counter, a look at it,
// the first read; then the bytes a clock at which an SM writes its partial sums and reads its
// share. Of a prototype on 256x2048x16384, 512x512x16384 and 256x1024x12288 (docs/experiments.md,
// 11).
constexpr double kMeetUs = 1.5;
constexpr double kWorkspaceBytesPerClock = 45;

// Under a tensor load the card does not hold its highest clock; near the power limit less still.
constexpr double kClockShare = 0.8;
constexpr double kTensorFlopPerClock = 4096;  // 16-bit, an SM
constexpr double kPowerLimitShare = 0.93;     // of the peak at the highest clock, random data
constexpr double kPowerPerByte = 9.4;
// mma.sync reaches about five eighths of wgmma's rate on Hopper; Ampere's peak is half of Hopper's.
constexpr double kMmaSyncFmaPerClock = 1060;
constexpr double kMmaSyncFmaPerClockAmpere = 1000;
// A wgmma is not over sooner than this, and each k tile waits for a barrier and a retired group.
constexpr double kWgmmaLeastClocks = 49;
constexpr double kWgmmaTileClocks = 22;
constexpr double kMmaStepClocks = 72;
constexpr double kMmaTileClocks = 53;
// Bytes an SM can take in a clock, and all SMs from L2 a second.
constexpr double kTmaBytesPerClock = 63;
constexpr double kCpAsyncBytesPerClock = 45;
constexpr double kElementBytesPerClock = 9;    // assumed: a load instruction for every 64 bytes
constexpr double kExchangeBytesPerClock = 19;  // split-K's, through DSMEM
constexpr double kStoreBytesPerClock = 34;
// From asking for a k tile to having it: out of L2, and more where it comes from memory first.
constexpr double kL2LatencyClocks = 870;
constexpr double kMemoryLatencyClocks = 620;
// A stage is held this many k tiles: its own multiplication and the next one's start.
constexpr double kHeldTiles = 2.3;
// The launch before the kernel that copies operands, and what it reads and writes a second, mostly
// in L2. Assumed.
constexpr double kPackUs = 1.3;
constexpr double kPackBytesPerS = 3.5e12;
// Every CTA of a cluster must have freed a stage before a multicast load may fill it. Assumed: the
// measured clusters freed stages with a fence of the whole GPU (1500 clocks and 80 % here,
// kClusterUs 0.8), which the kernels have lost since.
constexpr double kClusterLatencyClocks = 400;
constexpr double kMulticastSlowdown = 0.1;
// Leaving the main loop, staging the tile and asking for its store, before the next tile's loop.
constexpr double kEpilogueClocks = 91;
// Fragments to shared memory, all warps of a CTA together.
constexpr double kStageBytesPerClock = 33;
// A consumer stages two pieces of 64 columns ahead: their stores run beside the next tile's loop,
// and of the others' time this share is waited for.
constexpr double kPiecesAhead = 1.4;
constexpr double kPersistentExposed = 0.66;
// Two CTAs on an SM, or pingpong consumers, hide each other's shorter part but for this share.
constexpr double kNeighboursExposed = 0.84;
constexpr double kPingpongExposed = 0.45;
// Stores straight from the fragments touch small pieces of many lines.
constexpr double kDirectStoreSlowdown = 5;
// Moving operands takes power and issue slots from multiplying.
constexpr double kDeliveryShare = 0.04;
// Bytes a clock at which K-slices of a CTA add their f32 partial tiles up in shared memory.
constexpr double kSliceBytesPerClock = 16;
constexpr double kPersistentRefillUs = 0.023;
constexpr double kL2BytesPerS = 1.34e13;
// Of the memory's theoretical peak, mixed reads and writes.
constexpr double kMemoryShare = 0.73;
// Beyond this share of L2, operands do not survive from one window of tiles to the next.
constexpr double kL2Share = 0.6;

struct Grid {
  double tiles_m = 0, tiles_n = 0, tiles = 0;
  double ctas = 0;      // tiles times split, whole clusters
  double sms = 0;       // that clusters of this size can use
  double resident = 1;  // CTAs an SM holds
  double k_tiles = 0;   // of one CTA's share
};

// SMs that clusters of a size can use at once: GPCs have 14 to 18, and what is left over in each is
// idle. Shares of 132 asked of the driver on an H200, one CTA an SM; other cards' GPCs differ a
// little.
double usable_sms(int cluster, int sm_count) {
  const double share = cluster <= 2    ? 1
                       : cluster == 3  ? 0.886
                       : cluster == 4  ? 0.909
                       : cluster <= 6  ? 0.773
                       : cluster <= 8  ? 0.909
                       : cluster <= 12 ? 0.636
                                       : 0.727;
  return std::floor(share * sm_count);
}

// CTAs that are launched as one cluster.
int cluster_of(const KernelShape& kernel) {
  return kernel.cluster_m * kernel.cluster_n * (kernel.through_workspace ? 1 : kernel.split_k);
}

int resident_ctas(const KernelShape& kernel, const Target& target) {
  const int by_shared = target.shared_bytes_per_sm / (kernel.shared_bytes + 1024);
  const int by_threads = target.max_threads_per_sm / kernel.threads;
  const int by_registers = target.registers_per_sm / (kernel.threads * kernel.registers);
  return std::max(1, std::min({by_shared, by_threads, by_registers, 32}));
}

Grid make_grid(const Problem& problem, const KernelShape& kernel, const Target& target) {
  Grid grid;
  const auto tiles = [](std::int64_t size, int tile, int cluster) {
    return static_cast<double>(round_up(ceil_div(size, tile), cluster));
  };
  grid.tiles_m = tiles(problem.m, kernel.tile_m, kernel.cluster_m);
  grid.tiles_n = tiles(problem.n, kernel.tile_n, kernel.cluster_n);
  grid.tiles =
      grid.tiles_m * grid.tiles_n * static_cast<double>(problem.is_batched() ? problem.batch : 1);
  grid.ctas = grid.tiles * kernel.split_k;
  grid.sms = usable_sms(cluster_of(kernel), target.sm_count);
  grid.resident = resident_ctas(kernel, target);
  grid.k_tiles = static_cast<double>(
      ceil_div(ceil_div(std::max<std::int64_t>(problem.k, 1), kernel.tile_k), kernel.split_k));
  return grid;
}

// Tensor-core clocks of one k tile, and the least time its chain of instructions takes.
struct TileClocks {
  double busy = 0;
  double latency = 0;
};

TileClocks wgmma_clocks(const KernelShape& kernel) {
  const bool by_columns = kernel.consumers == 2 && !kernel.pingpong && kernel.tile_m % 128 != 0;
  const double n = by_columns ? kernel.tile_n / 2.0 : kernel.tile_n;
  // Below N = 64, reading the operands from shared memory takes longer than multiplying them.
  const double one = n / 2 * std::max(1.0, (64 + 4096 / n) / 128);
  const double steps = kernel.tile_k / 16.0;
  const double instructions = kernel.tile_m / 64.0 * (by_columns ? 2 : 1) * steps;
  const double mine = instructions / (kernel.pingpong ? 1 : kernel.consumers);
  return {instructions * one, std::max(mine * one, mine * kWgmmaLeastClocks + kWgmmaTileClocks)};
}

TileClocks mma_clocks(const KernelShape& kernel, const Target& target) {
  const double rate =
      target.compute_capability >= 90 ? kMmaSyncFmaPerClock : kMmaSyncFmaPerClockAmpere;
  const double fma = static_cast<double>(kernel.tile_m) * kernel.tile_n * kernel.tile_k / rate;
  const double steps = kernel.tile_k / 16.0;
  const double warps_in_tile =
      static_cast<double>(kernel.tile_m) / kernel.warp_tile_m * kernel.tile_n / kernel.warp_tile_n;
  // ldmatrix: each warp reads its rows of A and columns of B, 32 bytes a row and step, at 128 B a
  // clock.
  const double reads = warps_in_tile * (kernel.warp_tile_m + kernel.warp_tile_n) * 32 * steps / 128;
  const double slices = std::max(1.0, kernel.warps / warps_in_tile);
  return {std::max(fma, reads), steps / slices * kMmaStepClocks + kMmaTileClocks};
}

// Tiles of one matrix that run together, and the rows of A and columns of B that all such windows
// ask for, in sum. The matrices of a batch share nothing but what all of them share.
struct Windows {
  double count = 1;
  double rows_and_columns = 0;
};

Windows windows_of(const Problem& problem, const KernelShape& kernel, const Grid& grid) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const double tiles = grid.tiles_m * grid.tiles_n;
  const double window = std::min(tiles, grid.sms * grid.resident);
  if (window >= tiles) return {1, m + n};
  const double minor_count = kernel.along_n ? grid.tiles_n : grid.tiles_m;
  const double minor = std::min<double>(kernel.group, minor_count);
  const double major = window / minor;
  const double rows = (kernel.along_n ? major : minor) * kernel.tile_m;
  const double columns = (kernel.along_n ? minor : major) * kernel.tile_n;
  const double count = tiles / window;
  return {count, std::max(m + n, count * (std::min(rows, m) + std::min(columns, n)))};
}

// Bytes that must come from memory: operands once if they stay in L2, else once for each window.
double memory_bytes(const Problem& problem, const Target& target, const Windows& windows) {
  const double element = size_bytes(problem.type);
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const double once = problem.min_bytes();
  if ((m + n) * k * element <= kL2Share * static_cast<double>(target.l2_bytes)) return once;
  return std::max(
      once, (windows.rows_and_columns * k * element + m * n * size_bytes(problem.output_type())) *
                static_cast<double>(problem.is_batched() ? problem.batch : 1));
}

// K-slices of an sm80_mma tile: groups of warps that each take a part of every k tile.
double slices_of(const KernelShape& kernel) {
  if (kernel.wgmma) return 1;
  const double warps_in_tile =
      static_cast<double>(kernel.tile_m) / kernel.warp_tile_m * kernel.tile_n / kernel.warp_tile_n;
  return std::max(1.0, kernel.warps / warps_in_tile);
}

// The share of loads that wait for memory: the tiles of a window ask for the same operands at the
// same time, so only what an earlier window left in L2 is there at once.
double cold_share(const Problem& problem, const Windows& windows) {
  const double once = static_cast<double>(problem.m) + static_cast<double>(problem.n);
  return once / windows.rows_and_columns;
}

// Cache lines that 128 bytes of the operand lie in.
double lines_a_row(const MatrixShape& operand, int alignment, int is_packed) {
  return is_packed != 0 || has_whole_cache_lines(operand, alignment) ? 1 : 2;
}

double pack_us(const Problem& problem, int pack) {
  if (pack == 0) return 0;
  const auto bytes = static_cast<double>(packed_bytes(problem, pack));
  return kPackUs + 2 * bytes / kPackBytesPerS * 1e6;
}

struct Round {
  double loop_us = 0;
  double epilogue_us = 0;
  double exposed_us = 0;  // of the epilogue, where TMA stores run beside a persistent CTA's loop
};

// One round: every SM that has work runs `resident` CTAs side by side.
Round round_time(const Problem& problem, const KernelShape& kernel, const Target& target,
                 const Grid& grid, double resident, double busy_sms) {
  const double clock_hz = target.sm_clock_mhz * 1e6 * kClockShare;
  const TileClocks clocks = kernel.wgmma ? wgmma_clocks(kernel) : mma_clocks(kernel, target);
  const double element = size_bytes(problem.type);
  const double line_a = lines_a_row(stored_a(problem), problem.alignment.a, kernel.pack & kPackA);
  const double line_b = lines_a_row(stored_b(problem), problem.alignment.b, kernel.pack & kPackB);
  const double taken_bytes =
      (kernel.tile_m * line_a + kernel.tile_n * line_b) * kernel.tile_k * element;
  const double l2_bytes = (static_cast<double>(kernel.tile_m) / kernel.cluster_n +
                           static_cast<double>(kernel.tile_n) / kernel.cluster_m) *
                          kernel.tile_k * element;
  const double per_clock = kernel.wgmma      ? kTmaBytesPerClock
                           : kernel.elements ? kElementBytesPerClock
                                             : kCpAsyncBytesPerClock;
  const double doublings = std::log2(kernel.cluster_m * kernel.cluster_n);
  const double delivery = std::max(taken_bytes / per_clock * (1 + kMulticastSlowdown * doublings),
                                   l2_bytes * busy_sms / kL2BytesPerS * clock_hz);
  const double tile_clocks =
      std::max({clocks.latency, resident * clocks.busy, resident * delivery}) +
      kDeliveryShare * resident * delivery;
  // A ring of s stages turns once in a load's latency and the time a stage is held.
  const double turn =
      kL2LatencyClocks +
      kMemoryLatencyClocks * cold_share(problem, windows_of(problem, kernel, grid)) +
      kClusterLatencyClocks * doublings + kHeldTiles * std::max(clocks.latency, clocks.busy);
  const double turns = std::max(0.0, grid.k_tiles / kernel.stages - 1);
  const double first = std::min<double>(grid.k_tiles, kernel.stages) * clocks.latency;

  const double d_bytes = static_cast<double>(kernel.tile_m) * kernel.tile_n * element;
  const double memory_per_sm =
      target.memory_bytes_per_s * kMemoryShare / busy_sms / clock_hz;  // bytes a clock
  double store_clocks = resident * d_bytes / std::min(kStoreBytesPerClock, memory_per_sm);
  if (kernel.wgmma && !kernel.stores_by_tma) store_clocks *= kDirectStoreSlowdown;
  if (kernel.through_workspace) store_clocks /= kernel.split_k;
  const double partials = slices_of(kernel) - 1;
  store_clocks += resident * partials * kernel.tile_m * kernel.tile_n * 4 / kSliceBytesPerClock;
  Round round;
  round.loop_us = std::max(grid.k_tiles * tile_clocks, turns * turn + first) / clock_hz * 1e6;
  round.epilogue_us = (store_clocks + kEpilogueClocks) / clock_hz * 1e6;
  const double pieces = kernel.tile_m / 64.0 / kernel.consumers * std::ceil(kernel.tile_n / 64.0);
  const double waited = std::max(0.0, 1 - kPiecesAhead / pieces);
  round.exposed_us = (kEpilogueClocks + resident * d_bytes / kStageBytesPerClock +
                      kPersistentExposed * waited * store_clocks) /
                     clock_hz * 1e6;
  if (kernel.through_workspace) {
    const double partial_bytes = static_cast<double>(kernel.tile_m) * kernel.tile_n *
                                 (problem.accumulator == DataType::kF16 ? 2 : 4);
    round.epilogue_us += 2 * partial_bytes * resident / kWorkspaceBytesPerClock / clock_hz * 1e6;
  } else if (kernel.split_k > 1) {
    round.epilogue_us += 2 * d_bytes * resident * (kernel.split_k - 1) / kernel.split_k /
                         kExchangeBytesPerClock / clock_hz * 1e6;
  }
  return round;
}

}  // namespace

KernelShape kernel_shape(const Config& config, DataType accumulator) {
  KernelShape kernel;
  kernel.wgmma = config.family == &sm90_ws_family();
  kernel.tile_m = config.at("tile_m");
  kernel.tile_n = config.at("tile_n");
  kernel.tile_k = config.at("tile_k");
  kernel.stages = config.at("stages");
  kernel.group = config.at("group");
  kernel.along_n = config.at("raster") == 1;
  kernel.persistent = config.at("persistent") == 1;
  kernel.pdl = config.at("pdl") == 1;
  kernel.prefetch = config.at("prefetch");
  kernel.pack = config.at("pack");
  int accumulators = 0;
  if (kernel.wgmma) {
    kernel.consumers = config.at("consumers");
    kernel.pingpong = config.at("schedule") == 1;
    kernel.stores_by_tma = config.at("epilogue") == 0;
    kernel.cluster_m = config.at("cluster_m");
    kernel.cluster_n = config.at("cluster_n");
    kernel.split_k = config.at("split_k");
    kernel.through_workspace = config.at("split") == 2;
    kernel.transposed = is_transposed(config);
    accumulators = kernel.tile_m * kernel.tile_n / 128 / (kernel.pingpong ? 1 : kernel.consumers);
  } else {
    const int warps_m = config.at("warps_m");
    const int warps_n = config.at("warps_n");
    kernel.warps = warps_m * warps_n * config.at("warps_k");
    kernel.warp_tile_m = kernel.tile_m / warps_m;
    kernel.warp_tile_n = kernel.tile_n / warps_n;
    kernel.elements = config.at("loads") == 1;
    accumulators = kernel.warp_tile_m * kernel.warp_tile_n / 32;
  }
  if (accumulator == DataType::kF16) accumulators /= 2;
  kernel.registers = accumulators + (kernel.wgmma ? 48 : 72);
  const Footprint size = config.family->footprint(config, {DataType::kF16, accumulator});
  kernel.threads = size.threads;
  kernel.shared_bytes = size.shared_bytes;
  // Moved registers: three warpgroups share the whole file.
  if (kernel.wgmma && kernel.threads == 384) kernel.registers = 168;
  return kernel;
}

int ctas_at_once(const KernelShape& kernel, const Target& target) {
  return static_cast<int>(usable_sms(cluster_of(kernel), target.sm_count)) *
         resident_ctas(kernel, target);
}

double model_us(const Problem& problem, const KernelShape& kernel, const Target& target) {
  const Grid grid = make_grid(problem, kernel, target);
  const double slots = grid.sms * grid.resident;
  const double full_rounds = std::floor(grid.ctas / slots);
  const double rest = grid.ctas - full_rounds * slots;
  const double fill = kernel.wgmma ? kFillUs : kFillAmpereUs;
  // A next CTA's fill is hidden by its neighbours on the SM, or by a persistent CTA's own ring.
  const double refill = kernel.persistent   ? kPersistentRefillUs
                        : grid.resident > 1 ? 0.5 * fill
                                            : fill;

  double body = 0;
  double rounds = 0;
  const auto add_rounds = [&](double count, double resident, double busy_sms) {
    if (count <= 0) return;
    Round round = round_time(problem, kernel, target, grid, resident, busy_sms);
    const double shorter = std::min(round.loop_us, round.epilogue_us);
    const double longer = std::max(round.loop_us, round.epilogue_us);
    double each = longer + shorter;
    if (kernel.pingpong)
      each = longer + kPingpongExposed * shorter;
    else if (kernel.persistent && kernel.stores_by_tma)
      each = std::max(longer, round.loop_us + round.exposed_us);
    else if (resident > 1)
      each = longer + kNeighboursExposed * shorter;
    body += count * each;
    rounds += count;
  };
  add_rounds(full_rounds, grid.resident, grid.sms);
  if (rest > 0) add_rounds(1, std::ceil(rest / grid.sms), std::min(rest, grid.sms));
  body += (rounds - 1) * refill;
  // The last tile's store is seen by nobody's main loop.
  if (kernel.pingpong) {
    const Round last = round_time(problem, kernel, target, grid, 1, std::min(grid.ctas, grid.sms));
    body += last.epilogue_us;
  }

  double fixed = (kernel.pdl ? kLaunchPdlUs : kLaunchPlainUs) + fill + kDrainUs;
  fixed += pack_us(problem, kernel.pack);
  if (kernel.through_workspace)
    fixed += kMeetUs;
  else if (kernel.split_k > 1)
    fixed += kSplitUs + kSplitRankUs * kernel.split_k;
  if (kernel.cluster_m * kernel.cluster_n > 1) fixed += kClusterUs;
  const double memory_us = memory_bytes(problem, target, windows_of(problem, kernel, grid)) /
                           (target.memory_bytes_per_s * kMemoryShare) * 1e6;
  // Smaller tiles read more operands for the same product, and that takes power too.
  const double bytes_per_fma = 1.0 / kernel.tile_m + 1.0 / kernel.tile_n;
  const double power_us = problem.flop() * (1 + kPowerPerByte * bytes_per_fma) /
                          (target.sm_count * kTensorFlopPerClock * target.sm_clock_mhz * 1e6 *
                           kPowerLimitShare * (target.compute_capability >= 90 ? 1 : 0.5)) *
                          1e6;
  // Near a limit both sides are felt: a soft maximum.
  const double limit = std::max(memory_us, power_us);
  const double p = 8;
  const double soft = std::pow(std::pow(body, p) + std::pow(limit, p), 1 / p);
  return fixed + soft;
}

}  // namespace gemmsmith::policy
