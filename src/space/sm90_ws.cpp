// The space of family sm90_ws (kernels/sm90_ws.cu): Hopper's warp-specialised TMA + wgmma kernel.
// The formulas here restate the kernel's own header comment; its static_asserts keep them honest.
#include <algorithm>

#include "base/numbers.h"
#include "problem/transposed.h"
#include "space/common_constraints.h"
#include "space/family.h"
#include "space/packing.h"
#include "space/workspace.h"

namespace gemmsmith {
namespace {

constexpr int kCooperative = 0;
constexpr int kPingpong = 1;
constexpr int kEpilogueTma = 0;
constexpr int kSplitCluster = 1;
constexpr int kSplitWorkspace = 2;
constexpr int kMostClusterCtas = 16;
constexpr int kReservedSharedBytes = 1024;  // the driver's own, for each CTA

// Rows and columns of the tile that one consumer warpgroup accumulates.
struct ConsumerTile {
  int rows = 0;
  int columns = 0;
};

ConsumerTile consumer_tile(const Config& config) {
  const int tile_m = config.at("tile_m");
  const int tile_n = config.at("tile_n");
  if (config.at("consumers") == 1 || config.at("schedule") == kPingpong) return {tile_m, tile_n};
  if (tile_m % 128 == 0) return {tile_m / 2, tile_n};
  return {tile_m, tile_n / 2};
}

int accumulator_registers(const Config& config, DataType accumulator) {
  const ConsumerTile tile = consumer_tile(config);
  return tile.rows / 64 * tile.columns / (accumulator == DataType::kF16 ? 4 : 2);
}

// Most accumulator registers a thread can hold beside the loop's own: 192 of the 232 that
// setmaxnreg leaves two consumers (at 208 NVRTC 13.0 spills, above that it serialises wgmma); 160
// of the 255 that one consumer can address (192 spill in clusters).
constexpr int kMaxAccumulatorRegisters = 192;
constexpr int kMaxAccumulatorRegistersOfOne = 160;

bool consumers_share_whole_blocks(const SpaceContext&, const Config& config) {
  const ConsumerTile tile = consumer_tile(config);
  return tile.rows % 64 == 0 && tile.columns % 8 == 0;
}

bool accumulators_fit(const SpaceContext& context, const Config& config) {
  return accumulator_registers(config, context.problem.accumulator) <=
         (config.at("consumers") == 2 ? kMaxAccumulatorRegisters : kMaxAccumulatorRegistersOfOne);
}

// Measured by compiling: three 64-row blocks of more than 96 columns, and four of more than 64 of
// f32 accumulators, whatever the cluster and the layout; two blocks of 192 columns and one of 256
// do not spill.
bool row_stores_fit(const SpaceContext& context, const Config& config) {
  if (config.at("epilogue") == kEpilogueTma || config.at("split") != 0) return true;
  const int rows = consumer_tile(config).rows;
  const bool is_f32 = context.problem.accumulator == DataType::kF32;
  const int most = rows == 256 && is_f32 ? 128 : rows == 192 ? 144 : kMaxAccumulatorRegisters;
  return accumulator_registers(config, context.problem.accumulator) <= most;
}

// Measured by compiling, too: f16 accumulators of three blocks of 256 columns and four of 192,
// whatever the cluster; of 224 and 160 they do not spill, nor do f32 ones of three blocks.
bool tma_stores_fit(const SpaceContext& context, const Config& config) {
  constexpr int kMostF16RegistersOfThreeBlocks = 168;
  constexpr int kMostRegistersOfFourBlocks = 160;
  if (config.at("epilogue") != kEpilogueTma) return true;
  const int registers = accumulator_registers(config, context.problem.accumulator);
  const int rows = consumer_tile(config).rows;
  if (rows == 192 && context.problem.accumulator == DataType::kF16)
    return registers <= kMostF16RegistersOfThreeBlocks;
  return rows != 256 || registers <= kMostRegistersOfFourBlocks;
}

// Measured by compiling, where D is f32: two consumers that store by rows spill with 176 registers,
// and not with 160; by TMA those of one tile with 192 (192x256 and 256x192), and not with 180.
bool f32_results_fit(const SpaceContext& context, const Config& config) {
  constexpr int kMostStoredByRows = 168;
  constexpr int kMostOfOneTile = 180;
  if (!context.problem.f32_output || config.at("consumers") == 1) return true;
  const int registers = accumulator_registers(config, context.problem.accumulator);
  if (config.at("epilogue") != kEpilogueTma) return registers <= kMostStoredByRows;
  return config.at("schedule") == kPingpong || registers <= kMostOfOneTile;
}

// Measured by compiling: the matrix of a batch is one more thing to remember, and spills beside
// three blocks of 128 columns (three of 112, and two of 192, do not), or beside two of 96 where
// pingpong consumers have k tiles of 128 and clusters of four to remember as well.
bool batches_fit(const SpaceContext& context, const Config& config) {
  constexpr int kMostRegistersOfThreeBlocks = 168;
  if (!context.problem.is_batched()) return true;
  if (config.at("schedule") == kPingpong && config.at("tile_k") == 128 &&
      config.at("cluster_m") == 4)
    return config.at("tile_m") == 64;
  return consumer_tile(config).rows != 192 ||
         accumulator_registers(config, context.problem.accumulator) <= kMostRegistersOfThreeBlocks;
}

// Measured by compiling all tiles. A CTA whose accumulators take 96 registers has no registers
// moved to its consumers yet: two blocks of 96 columns, stored by rows, are the only f32 tile that
// needs them. f16 accumulators pass through f32 group by group.
bool epilogues_fit(const SpaceContext& context, const Config& config) {
  constexpr int kMostRegisters = 160;
  constexpr int kMostRegistersOfFourBlocksByRows = 128;
  constexpr int kUnmovedRegisters = 96;
  const int split = config.at("split");
  if (!context.problem.has_epilogue() || split == kSplitWorkspace) return true;
  const int registers = accumulator_registers(config, context.problem.accumulator);
  if (context.problem.accumulator == DataType::kF16)
    return split != 0 || registers < kUnmovedRegisters;
  if (registers > kMostRegisters) return false;
  if (split != 0 || config.at("epilogue") == kEpilogueTma) return true;
  const int rows = consumer_tile(config).rows;
  if (rows == 256) return registers <= kMostRegistersOfFourBlocksByRows;
  return rows != 128 || config.at("consumers") == 1 || registers != kUnmovedRegisters;
}

// A transposed kernel stores fragments transposed, which the matrix instructions do to 16 bits; and
// what is stored by rows would be 32 bytes of a row at a time.
bool transposed_sums_can_be_stored(const SpaceContext& context, const Config& config) {
  return config.at("transpose") == 0 ||
         (!context.problem.f32_output && !context.problem.grouped &&
          (config.at("epilogue") == kEpilogueTma || config.at("split") != 0));
}

// Where both sides are alike, they are the same kernel.
bool transposing_changes_something(const SpaceContext& context, const Config& config) {
  if (config.at("transpose") == 0) return true;
  const bool is_square_tile = config.at("tile_m") == config.at("tile_n") &&
                              config.at("cluster_m") == config.at("cluster_n");
  const Problem& problem = context.problem;
  const bool is_square_problem =
      problem.m == problem.n && problem.layout == transposed(problem.layout);
  return !is_square_tile && !is_square_problem;
}

bool pingpong_takes_two(const SpaceContext&, const Config& config) {
  return config.at("schedule") == kCooperative || config.at("consumers") == 2;
}

// Two consumers of 64 rows each are the point of a second consumer; a wide single-consumer tile
// leaves half the tensor core's issue slots empty.
bool wide_tiles_take_two(const SpaceContext&, const Config& config) {
  return config.at("consumers") == 2 || config.at("tile_m") <= 128;
}

// An operand whose k is not contiguous is shared out by lines of k instead.
bool multicast_parts_are_whole(const SpaceContext& context, const Config& config) {
  const Layout layout = context.problem.layout;
  return (!a_is_k_contiguous(layout) || config.at("tile_m") % (8 * config.at("cluster_n")) == 0) &&
         (!b_is_k_contiguous(layout) || config.at("tile_n") % (8 * config.at("cluster_m")) == 0);
}

constexpr int kNarrowestBox = 16;  // columns

// B with n contiguous lies in boxes of the widest of 64, 32, 16 columns that divides the tile
// (kernels/parts/operand_slab.cuh).
bool b_boxes_are_whole(const SpaceContext& context, const Config& config) {
  if (b_is_k_contiguous(context.problem.layout)) return true;
  const int tile_n = config.at("tile_n");
  const int box = tile_n % 64 == 0 ? 64 : tile_n % 32 == 0 ? 32 : kNarrowestBox;
  return tile_n % box == 0 && consumer_tile(config).columns % box == 0;
}

// The narrowest tile covers a smaller n.
bool tile_n_or_its_boxes_are_needed(const SpaceContext& context, const Config& config) {
  const bool boxes = !b_is_k_contiguous(context.problem.layout);
  return is_needed(config, "tile_n", context.problem.n, boxes ? kNarrowestBox : 1);
}

bool cluster_within_four(const SpaceContext&, const Config& config) {
  return config.at("cluster_m") * config.at("cluster_n") <= 4;
}

bool split_takes_the_cluster(const SpaceContext&, const Config& config) {
  return config.at("split") == 0 || (config.at("cluster_m") == 1 && config.at("cluster_n") == 1 &&
                                     config.at("schedule") == kCooperative);
}

bool split_stores_directly(const SpaceContext&, const Config& config) {
  return config.at("split") == 0 || config.at("epilogue") != kEpilogueTma;
}

bool split_agrees(const SpaceContext&, const Config& config) {
  return (config.at("split_k") > 1) == (config.at("split") != 0);
}

bool cluster_holds_the_split(const SpaceContext&, const Config& config) {
  return config.at("split") != kSplitCluster || config.at("split_k") <= kMostClusterCtas;
}

std::int64_t tile_count(const Problem& problem, const Config& config) {
  return ceil_div(problem.m, config.at("tile_m")) * ceil_div(problem.n, config.at("tile_n")) *
         (problem.is_batched() ? problem.batch : 1);
}

bool split_has_k_tiles(const SpaceContext& context, const Config& config) {
  const int split_k = config.at("split_k");
  return split_k == 1 || ceil_div(context.problem.k, config.at("tile_k")) >= split_k;
}

bool split_is_not_persistent(const SpaceContext&, const Config& config) {
  return config.at("split") == 0 || config.at("persistent") == 0;
}

bool pingpong_is_persistent(const SpaceContext&, const Config& config) {
  return config.at("schedule") == kCooperative || config.at("persistent") == 1;
}

// The n rule was found on the device: a TMA store clips at D's edge in whole 16-byte chunks, so an
// n that is no multiple of 8 would overwrite up to 7 elements of the padding between rows (4 and 3
// of an f32 D).
bool tma_writes_d(const SpaceContext& context, const Config& config) {
  if (config.at("epilogue") != kEpilogueTma) return true;
  const Problem& seen = context.problem;
  const Problem as_stored = config.at("transpose") == 1 ? transposed(seen) : seen;
  return as_stored.n * size_bytes(as_stored.output_type()) % 16 == 0 &&
         is_readable(stored_d(as_stored), as_stored.alignment.d);
}

// How many tiles groups have is known on the device only.
bool groups_are_walked(const SpaceContext& context, const Config& config) {
  return !context.problem.grouped || config.at("persistent") == 1;
}

bool groups_are_stored_by_rows(const SpaceContext& context, const Config& config) {
  return !context.problem.grouped || config.at("epilogue") != kEpilogueTma;
}

bool groups_take_single_ctas(const SpaceContext& context, const Config& config) {
  return !context.problem.grouped ||
         (config.at("cluster_m") == 1 && config.at("cluster_n") == 1 && config.at("split") == 0);
}

// A buffer has 64 rows of at most 128 bytes of D.
int staging_bytes(const Config& config, bool f32_output) {
  constexpr int kRowBytes = 128;
  if (config.at("split") != 0) return 0;
  const int element_bytes = f32_output ? 4 : 2;
  const int row_bytes = consumer_tile(config).columns * element_bytes;
  if (config.at("epilogue") != kEpilogueTma) return row_bytes >= kRowBytes ? 64 * kRowBytes : 0;
  return (row_bytes > kRowBytes ? 2 : 1) * std::min(row_bytes, kRowBytes) * 64;
}

int exchange_bytes(const Config& config) {
  const int split_k = config.at("split_k");
  if (config.at("split") != kSplitCluster) return 0;
  const ConsumerTile tile = consumer_tile(config);
  const int fragments = tile.rows / 64 * tile.columns / 8;
  return config.at("consumers") * split_k * static_cast<int>(ceil_div(fragments, split_k)) * 2048;
}

int shared_bytes(const Config& config, bool f32_output) {
  const int stages = config.at("stages");
  return stages * (config.at("tile_m") + config.at("tile_n")) * config.at("tile_k") * 2 +
         config.at("consumers") * staging_bytes(config, f32_output) + exchange_bytes(config) +
         16 * stages;
}

bool shared_memory_fits(const SpaceContext& context, const Config& config) {
  return shared_bytes(config, context.problem.f32_output) <= context.target.shared_bytes_per_block;
}

// Multicasting CTAs need neighbours: a cluster wider than the grid of tiles multiplies nothing.
bool cluster_fits_the_tiles(const SpaceContext& context, const Config& config) {
  return config.at("cluster_m") <= ceil_div(context.problem.m, config.at("tile_m")) &&
         config.at("cluster_n") <= ceil_div(context.problem.n, config.at("tile_n"));
}

// More stages than k tiles (of one split) never fill.
bool stages_have_k_tiles(const SpaceContext& context, const Config& config) {
  const auto k_tiles =
      ceil_div(ceil_div(std::max<std::int64_t>(context.problem.k, 1), config.at("tile_k")),
               config.at("split_k"));
  return config.at("stages") <= std::max<std::int64_t>(k_tiles, 2) || config.at("persistent") == 1;
}

Footprint sm90_ws_footprint(const Config& config, const Signature& signature) {
  const int consumers = config.at("consumers");
  const bool stores_rows = config.at("epilogue") != kEpilogueTma && config.at("split") == 0;
  const bool moves_registers =
      consumers == 2 &&
      accumulator_registers(config, signature.accumulator) > (stores_rows ? 80 : 96);
  return {128 * consumers + (moves_registers ? 128 : 32),
          shared_bytes(config, signature.f32_output)};
}

// Registers of a thread, estimated: they are known after compiling only, and a kernel that takes
// more is refused then, by plan::prepare(). Compiled ones took 106 to 110, for batches 114 to 116;
// more where two consumers halve the columns, and what three warpgroups can have where they move
// registers. Eight registers are the unit.
int split_registers(const Problem& problem, const Config& config) {
  constexpr int kBesideAccumulators = 48;
  const bool moves_registers = sm90_ws_footprint(config, signature_of(problem)).threads == 384;
  const bool halves_columns = config.at("consumers") == 2 && config.at("tile_m") % 128 != 0;
  const int least = moves_registers || halves_columns ? 168 : problem.is_batched() ? 120 : 112;
  return std::max(least, accumulator_registers(config, problem.accumulator) + kBesideAccumulators);
}

// Each quarter of an SM has a quarter of its registers and of a CTA's warps.
int resident_by_registers(int threads, int registers, const Target& target) {
  constexpr int kQuarters = 4;
  const int warps_of_a_quarter = target.registers_per_sm / kQuarters / (32 * registers);
  return kQuarters * warps_of_a_quarter / (threads / 32);
}

bool split_ctas_fit_at_once(const SpaceContext& context, const Config& config) {
  if (config.at("split") != kSplitWorkspace) return true;
  const Target& target = context.target;
  const Footprint footprint = sm90_ws_footprint(config, signature_of(context.problem));
  const int by_shared =
      target.shared_bytes_per_sm / (footprint.shared_bytes + kReservedSharedBytes);
  const int by_threads = target.max_threads_per_sm / footprint.threads;
  const int by_registers =
      resident_by_registers(footprint.threads, split_registers(context.problem, config), target);
  const std::int64_t resident =
      std::int64_t{target.sm_count} * std::max(1, std::min({by_shared, by_threads, by_registers}));
  return tile_count(context.problem, config) * config.at("split_k") <= resident;
}

bool split_fits_the_workspace(const SpaceContext& context, const Config& config) {
  if (config.at("split") != kSplitWorkspace) return true;
  const int accumulator_bytes = context.problem.accumulator == DataType::kF16 ? 2 : 4;
  const std::int64_t partial_sums = tile_count(context.problem, config) * config.at("split_k") *
                                    config.at("tile_m") * config.at("tile_n") * accumulator_bytes;
  return partial_sums + packed_bytes(context.problem, config.at("pack")) <= kMostWorkspaceBytes;
}

}  // namespace

const Family& sm90_ws_family() {
  static const Family family = {
      "sm90_ws",
      "sm90_ws.cu",
      {
          {"transpose", "t", Binding::kCompile, 0, {0, 1}},
          {"consumers", "w", Binding::kCompile, 1, {1, 2}},
          {"schedule", "pp", Binding::kCompile, kCooperative, {kCooperative, kPingpong}},
          {"tile_m", "m", Binding::kCompile, 64, {64, 128, 192, 256}},
          {"tile_n",
           "n",
           Binding::kCompile,
           64,
           {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 208, 224, 256}},
          {"tile_k", "k", Binding::kCompile, 64, {64, 128}},
          {"epilogue", "e", Binding::kCompile, kEpilogueTma, {0, 1}},
          {"split", "sp", Binding::kCompile, 0, {0, kSplitCluster, kSplitWorkspace}},
          {"cluster_m", "cm", Binding::kCompile, 1, {1, 2, 4}},
          {"cluster_n", "cn", Binding::kCompile, 1, {1, 2, 4}},
          {"stages", "s", Binding::kCompile, 4, {2, 3, 4, 5, 6, 8, 10, 12}},
          {"split_k", "sk", Binding::kLaunch, 1, {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32}},
          {"persistent", "ps", Binding::kLaunch, 0, {0, 1}},
          {"group", "g", Binding::kLaunch, 8, {1, 2, 4, 8, 16, 32}},
          {"raster", "r", Binding::kLaunch, 0, {0, 1}},
          {"pdl", "d", Binding::kLaunch, 1, {0, 1}},
          {"prefetch", "pf", Binding::kLaunch, 0, {0, 1, 2}},
          {"pack", "pk", Binding::kLaunch, 0, {0, kPackA, kPackB, kPackA | kPackB}},
          {"register_usage_level",
           "rul",
           Binding::kCompile,
           5,
           {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
           true},
      },
      {
          {"arch_is_sm90",
           "TMA and wgmma need compute capability 9.0",
           {"consumers"},
           &arch_is_sm90},
          {"prefetch_comes_before_a_wait",
           "what is asked of L2 early is asked before the wait of programmatic launch: packed "
           "operands and the ends of groups do not exist then",
           {"pdl", "pack", "prefetch"},
           &prefetch_comes_before_a_wait},
          {"prefetch_has_k_tiles",
           "half this prefetch reaches all of k already",
           {"stages", "tile_k", "prefetch", "split_k"},
           &prefetch_has_k_tiles},
          {"k_is_not_zero",
           "a product with k = 0 has no k tile to wait for",
           {"consumers"},
           &k_is_not_zero},
          {"unreadable_operands_are_packed",
           "TMA needs 16-byte aligned A and B and lda, ldb that are multiples of 8 elements: "
           "others "
           "are packed",
           {"pack"},
           &unreadable_operands_are_packed},
          {"packing_may_pay",
           "packing an operand whose rows all start on 128 bytes gains nothing",
           {"pack"},
           &packing_may_pay},
          {"packing_takes_single_matrices",
           "the operands of a batch, or of groups, are not packed",
           {"pack"},
           &packing_takes_single_matrices},
          {"packed_fits_the_workspace",
           "the packed operands take more than 32 MiB of workspace",
           {"pack"},
           &packed_fits_the_workspace},
          {"pingpong_takes_two",
           "a pingpong schedule alternates between two consumers",
           {"consumers", "schedule"},
           &pingpong_takes_two},
          {"wide_tiles_take_two",
           "tiles of more than 128 rows are for two consumers",
           {"consumers", "tile_m"},
           &wide_tiles_take_two},
          {"tile_m_is_needed",
           "a smaller tile_m already covers all of m",
           {"tile_m"},
           &tile_m_is_needed},
          {"tile_n_is_needed",
           "a smaller tile_n already covers all of n",
           {"tile_n"},
           &tile_n_or_its_boxes_are_needed},
          {"consumers_share_whole_blocks",
           "two cooperating consumers need tile_m in whole 128 rows, or tile_n in whole 16 columns",
           {"consumers", "schedule", "tile_m", "tile_n"},
           &consumers_share_whole_blocks},
          {"accumulators_fit",
           "more than 192 accumulator registers a thread of two consumers, or 160 of one, spill or "
           "serialise wgmma",
           {"consumers", "schedule", "tile_m", "tile_n"},
           &accumulators_fit},
          {"row_stores_fit",
           "storing three blocks of 64 rows by rows spills above 144 accumulator registers, four "
           "of f32 accumulators above 128",
           {"consumers", "schedule", "tile_m", "tile_n", "epilogue", "split"},
           &row_stores_fit},
          {"tma_stores_fit",
           "storing four blocks of 64 rows by TMA spills above 160 accumulator registers, three of "
           "f16 accumulators above 168",
           {"consumers", "schedule", "tile_m", "tile_n", "epilogue"},
           &tma_stores_fit},
          {"f32_results_fit",
           "where D is f32 two consumers spill above 168 accumulator registers stored by rows, and "
           "those "
           "of one tile above 180 stored by TMA",
           {"consumers", "schedule", "tile_m", "tile_n", "epilogue"},
           &f32_results_fit},
          {"batches_fit",
           "in a batch three blocks of 64 rows spill above 168 accumulator registers, and two "
           "blocks "
           "of pingpong consumers with k tiles of 128 in clusters of four",
           {"consumers", "schedule", "tile_m", "tile_n", "tile_k", "cluster_m"},
           &batches_fit},
          {"epilogues_fit",
           "with an epilogue f32 accumulators spill above 160 registers, above 128 where four "
           "blocks "
           "are stored by rows and at 96 where two are; f16 ones from 96 on",
           {"consumers", "schedule", "tile_m", "tile_n", "epilogue", "split"},
           &epilogues_fit},
          {"tma_writes_d",
           "the TMA store needs a 16-byte aligned D, and n and ldd that are multiples of 8 (4 of "
           "f32)",
           {"transpose", "epilogue"},
           &tma_writes_d},
          {"transposed_sums_can_be_stored",
           "a kernel of the transposed product stores 16-bit results, by TMA or from the reduction "
           "of split-K, and no groups",
           {"transpose", "epilogue", "split"},
           &transposed_sums_can_be_stored},
          {"transposing_changes_something",
           "transposed, a square tile, or a square problem whose operands lie alike, is what it "
           "was",
           {"transpose", "tile_m", "tile_n", "cluster_m", "cluster_n"},
           &transposing_changes_something},
          {"split_stores_directly",
           "split-K stores from the reduction, not through TMA",
           {"epilogue", "split"},
           &split_stores_directly},
          {"split_takes_the_cluster",
           "split-K works alone: no multicast cluster, no pingpong",
           {"split", "cluster_m", "cluster_n", "schedule"},
           &split_takes_the_cluster},
          {"cluster_within_four",
           "multicast clusters above 4 CTAs never paid",
           {"cluster_m", "cluster_n"},
           &cluster_within_four},
          {"b_boxes_are_whole",
           "a B with n contiguous needs tile_n, and each consumer's columns, in whole boxes of 16, "
           "32 or 64 columns",
           {"consumers", "schedule", "tile_m", "tile_n"},
           &b_boxes_are_whole},
          {"multicast_parts_are_whole",
           "each CTA of a cluster loads a part of whole 8-row swizzle groups",
           {"tile_m", "tile_n", "cluster_m", "cluster_n"},
           &multicast_parts_are_whole},
          {"cluster_fits_the_tiles",
           "the cluster is larger than the grid of tiles",
           {"tile_m", "tile_n", "cluster_m", "cluster_n"},
           &cluster_fits_the_tiles},
          {"split_agrees",
           "split_k above 1 needs a kernel with split-K code, and only that",
           {"split", "split_k"},
           &split_agrees},
          {"cluster_holds_the_split",
           "a cluster has at most 16 CTAs; a split through the workspace may be finer",
           {"split", "split_k"},
           &cluster_holds_the_split},
          {"split_has_k_tiles",
           "fewer k tiles than split_k",
           {"tile_k", "split_k"},
           &split_has_k_tiles},
          {"shared_memory_fits",
           "stages, staging and exchange exceed the shared memory of a block",
           {"consumers", "schedule", "tile_m", "tile_n", "tile_k", "stages", "epilogue", "split",
            "split_k"},
           &shared_memory_fits},
          {"split_ctas_fit_at_once",
           "CTAs that wait for each other's partial sums must all be on the device at once",
           {"consumers", "schedule", "tile_m", "tile_n", "tile_k", "stages", "epilogue", "split",
            "split_k"},
           &split_ctas_fit_at_once},
          {"split_fits_the_workspace",
           "the partial sums, and what is packed, take more than 32 MiB of workspace",
           {"tile_m", "tile_n", "split", "split_k", "pack"},
           &split_fits_the_workspace},
          {"split_is_not_persistent",
           "a CTA that splits k works on one tile",
           {"split", "persistent"},
           &split_is_not_persistent},
          {"pingpong_is_persistent",
           "with one tile a CTA the second pingpong consumer idles",
           {"schedule", "persistent"},
           &pingpong_is_persistent},
          {"groups_are_walked",
           "how many tiles groups have is known on the device only: persistent CTAs walk them",
           {"persistent"},
           &groups_are_walked},
          {"groups_are_stored_by_rows",
           "behind a group's last row comes the next group's first, which a TMA store would hit",
           {"epilogue"},
           &groups_are_stored_by_rows},
          {"groups_take_single_ctas",
           "groups are computed without clusters and splits",
           {"cluster_m", "cluster_n", "split"},
           &groups_take_single_ctas},
          {"stages_have_k_tiles",
           "more stages than k tiles to fill them",
           {"tile_k", "stages", "split_k", "persistent"},
           &stages_have_k_tiles},
      },
      {
          {"h100-f16-128x128x64", "sm90_ws:w2.m128.n128.s3",
           "recommended for H100 f16: 128x128x64, TMA store, 3 stages"},
      },
      &sm90_ws_footprint};
  return family;
}

}  // namespace gemmsmith
