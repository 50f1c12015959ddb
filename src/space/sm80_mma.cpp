// The space of family sm80_mma (kernels/sm80_mma.cu): cp.async + ldmatrix + mma.sync. The formulas
// restate the kernel's own header comment; its static_asserts keep them honest.
#include <algorithm>

#include "base/numbers.h"
#include "space/common_constraints.h"
#include "space/family.h"
#include "space/packing.h"

namespace gemmsmith {
namespace {

// Values of `loads`.
constexpr int kLoadChunks = 0;
constexpr int kLoadElements = 1;

bool loads_elements(const Config& config) { return config.at("loads") == kLoadElements; }

bool groups_are_hoppers(const SpaceContext& context, const Config&) {
  return !context.problem.grouped;
}

bool chunks_are_of_k(const SpaceContext& context, const Config& config) {
  return loads_elements(config) || context.problem.layout == Layout::kTN;
}

bool elements_are_for_the_rest(const SpaceContext& context, const Config& config) {
  return !loads_elements(config) || context.problem.layout != Layout::kTN ||
         needed_pack(context.problem) != 0;
}

bool unreadable_chunks_are_packed(const SpaceContext& context, const Config& config) {
  return loads_elements(config) || unreadable_operands_are_packed(context, config);
}

bool elements_need_no_packing(const SpaceContext&, const Config& config) {
  return !loads_elements(config) || config.at("pack") == 0;
}

bool elements_are_not_prefetched(const SpaceContext&, const Config& config) {
  return !loads_elements(config) || config.at("prefetch") == 0;
}

int warps(const Config& config) {
  return config.at("warps_m") * config.at("warps_n") * config.at("warps_k");
}

bool warps_are_few(const SpaceContext&, const Config& config) { return warps(config) <= 8; }

bool warps_share_whole_blocks(const SpaceContext&, const Config& config) {
  return config.at("tile_m") % (16 * config.at("warps_m")) == 0 &&
         config.at("tile_n") % (8 * config.at("warps_n")) == 0;
}

bool k_slices_are_whole(const SpaceContext&, const Config& config) {
  return config.at("tile_k") % (16 * config.at("warps_k")) == 0;
}

// Elements of the tile that one warp accumulates: a 64x64 warp tile keeps 128 f32 registers a
// thread, the most that fits beside two sets of fragments without spilling.
int warp_tile_elements(const Config& config) {
  return config.at("tile_m") / config.at("warps_m") * (config.at("tile_n") / config.at("warps_n"));
}

bool accumulators_fit(const SpaceContext& context, const Config& config) {
  const int most = context.problem.accumulator == DataType::kF16 ? 8192 : 4096;
  return warp_tile_elements(config) <= most;
}

// Measured by compiling: accumulators and two sets of a k step's fragments; 32x256 f16 accumulators
// (272) spill, 128x64 (224) do not.
bool fragments_fit(const SpaceContext& context, const Config& config) {
  constexpr int kMostRegisters = 240;
  const int per_register = context.problem.accumulator == DataType::kF16 ? 64 : 32;
  const int fragments = config.at("tile_m") / config.at("warps_m") / 16 * 4 +
                        config.at("tile_n") / config.at("warps_n") / 8 * 2;
  return warp_tile_elements(config) / per_register + 2 * fragments <= kMostRegisters;
}

// Elements come through registers: measured by compiling, 128x64 f16 accumulators spill beside
// them.
bool elements_fit(const SpaceContext&, const Config& config) {
  return !loads_elements(config) || warp_tile_elements(config) <= 4096;
}

// A warp with a tiny share of a large tile reads more fragments than it multiplies.
bool warps_have_work(const SpaceContext&, const Config& config) {
  return warp_tile_elements(config) >= 128 &&
         (warps(config) == 1 || warp_tile_elements(config) >= 256);
}

int shared_bytes(const Config& config, bool f32_output) {
  const int ring =
      config.at("stages") * (config.at("tile_m") + config.at("tile_n")) * config.at("tile_k") * 2;
  const int warps_k = config.at("warps_k");
  const int staged = config.at("tile_m") * (config.at("tile_n") + 8) *
                     (warps_k == 1 && !f32_output ? 2 : 4 * warps_k);
  return std::max(ring, staged);
}

bool shared_memory_fits(const SpaceContext& context, const Config& config) {
  return shared_bytes(config, context.problem.f32_output) <= context.target.shared_bytes_per_block;
}

bool stages_have_k_tiles(const SpaceContext& context, const Config& config) {
  const auto k_tiles = ceil_div(context.problem.k, config.at("tile_k"));
  return config.at("stages") <= std::max<std::int64_t>(k_tiles, 2);
}

Footprint sm80_mma_footprint(const Config& config, const Signature& signature) {
  return {32 * warps(config), shared_bytes(config, signature.f32_output)};
}

}  // namespace

const Family& sm80_mma_family() {
  static const Family family = {
      "sm80_mma",
      "sm80_mma.cu",
      {
          {"tile_m", "m", Binding::kCompile, 64, {16, 32, 64, 96, 128, 160, 256}},
          {"tile_n", "n", Binding::kCompile, 64, {16, 32, 64, 96, 128, 160, 256}},
          {"warps_m", "wm", Binding::kCompile, 2, {1, 2, 4}},
          {"warps_n", "wn", Binding::kCompile, 2, {1, 2, 4}},
          {"tile_k", "k", Binding::kCompile, 32, {32, 64, 128, 256}},
          {"warps_k", "wk", Binding::kCompile, 1, {1, 2, 4, 8}},
          {"stages", "s", Binding::kCompile, 3, {2, 3, 4, 5, 6, 8}},
          {"loads", "l", Binding::kCompile, kLoadChunks, {kLoadChunks, kLoadElements}},
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
          {"maxrregcount", "mr", Binding::kCompile, 0, {0, 64, 96, 128, 168, 255}, true},
      },
      {
          {"arch_is_sm80_or_later",
           "cp.async and mma.sync m16n8k16 need compute capability 8.0",
           {"tile_m"},
           &arch_is_sm80_or_later},
          {"groups_are_hoppers",
           "groups of rows are computed by sm90_ws alone",
           {"tile_m"},
           &groups_are_hoppers},
          {"chunks_are_of_k",
           "16-byte cp.async reads A and B with k contiguous (layout tn); loads 1 reads any",
           {"loads"},
           &chunks_are_of_k},
          {"elements_are_for_the_rest",
           "loading element by element is for what 16-byte cp.async cannot read",
           {"loads"},
           &elements_are_for_the_rest},
          {"prefetch_comes_before_a_wait",
           "what is asked of L2 early is asked before the wait of programmatic launch: packed "
           "operands and the ends of groups do not exist then",
           {"pdl", "pack", "prefetch"},
           &prefetch_comes_before_a_wait},
          {"prefetch_has_k_tiles",
           "half this prefetch reaches all of k already",
           {"stages", "tile_k", "prefetch"},
           &prefetch_has_k_tiles},
          {"k_is_not_zero",
           "a product with k = 0 has no k tile to load",
           {"tile_m"},
           &k_is_not_zero},
          {"unreadable_operands_are_packed",
           "16-byte cp.async needs 16-byte aligned A and B and lda, ldb that are multiples of 8: "
           "others are packed, or loaded element by element (loads 1)",
           {"loads", "pack"},
           &unreadable_chunks_are_packed},
          {"elements_are_not_prefetched",
           "only rows of 16-byte chunks are asked of L2 early",
           {"loads", "prefetch"},
           &elements_are_not_prefetched},
          {"elements_need_no_packing",
           "what is loaded element by element can be read where it is",
           {"loads", "pack"},
           &elements_need_no_packing},
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
          {"tile_m_is_needed",
           "a smaller tile_m already covers all of m",
           {"tile_m"},
           &tile_m_is_needed},
          {"tile_n_is_needed",
           "a smaller tile_n already covers all of n",
           {"tile_n"},
           &tile_n_is_needed},
          {"warps_share_whole_blocks",
           "tile_m must be whole 16-row blocks a warp and tile_n whole 8-column blocks",
           {"tile_m", "tile_n", "warps_m", "warps_n"},
           &warps_share_whole_blocks},
          {"accumulators_fit",
           "a warp tile above 64x64 (128x64 with f16 accumulation) does not fit the registers",
           {"tile_m", "tile_n", "warps_m", "warps_n"},
           &accumulators_fit},
          {"fragments_fit",
           "a long warp tile's fragments do not fit the registers beside its accumulators",
           {"tile_m", "tile_n", "warps_m", "warps_n"},
           &fragments_fit},
          {"elements_fit",
           "a warp tile above 64x64 does not fit the registers beside what is loaded element by "
           "element",
           {"tile_m", "tile_n", "warps_m", "warps_n", "loads"},
           &elements_fit},
          {"k_slices_are_whole",
           "warps_k must cut tile_k into whole 16-wide steps",
           {"tile_k", "warps_k"},
           &k_slices_are_whole},
          {"warps_are_few",
           "at most 8 warps a block",
           {"warps_m", "warps_n", "warps_k"},
           &warps_are_few},
          {"warps_have_work",
           "a warp needs at least a 16x16 piece of the tile (16x8 alone)",
           {"tile_m", "tile_n", "warps_m", "warps_n", "warps_k"},
           &warps_have_work},
          {"shared_memory_fits",
           "stages or the staged tile exceed the shared memory of a block",
           {"tile_m", "tile_n", "tile_k", "warps_k", "stages"},
           &shared_memory_fits},
          {"stages_have_k_tiles",
           "more stages than k tiles to fill them",
           {"tile_k", "stages"},
           &stages_have_k_tiles},
      },
      {
          {"a100-f16-128x64x32-s2", "sm80_mma:m128.s2",
           "recommended for A100 f16: 128x64x32, 128 threads, 2 stages"},
          {"a100-f16-128x64x32-s3", "sm80_mma:m128",
           "recommended for A100 f16: 128x64x32, 128 threads, 3 stages"},
      },
      &sm80_mma_footprint};
  return family;
}

}  // namespace gemmsmith
