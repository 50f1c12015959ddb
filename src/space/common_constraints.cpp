#include "space/common_constraints.h"

#include <algorithm>

#include "base/numbers.h"
#include "space/packing.h"
#include "space/workspace.h"

namespace gemmsmith {
bool arch_is_sm90(const SpaceContext& context, const Config&) {
  return context.target.compute_capability == 90;
}

bool arch_is_sm80_or_later(const SpaceContext& context, const Config&) {
  return context.target.compute_capability == 80 || context.target.compute_capability == 90;
}

bool unreadable_operands_are_packed(const SpaceContext& context, const Config& config) {
  return (needed_pack(context.problem) & ~config.at("pack")) == 0;
}

bool packing_may_pay(const SpaceContext& context, const Config& config) {
  return (config.at("pack") & ~useful_pack(context.problem)) == 0;
}

bool prefetch_comes_before_a_wait(const SpaceContext& context, const Config& config) {
  return config.at("prefetch") == 0 ||
         (config.at("pdl") == 1 && config.at("pack") == 0 && !context.problem.grouped);
}

// Half as deep must not reach the end of the k range already.
bool prefetch_has_k_tiles(const SpaceContext& context, const Config& config) {
  const int prefetch = config.at("prefetch");
  if (prefetch <= 1) return true;
  const auto k_tiles = ceil_div(std::max<std::int64_t>(context.problem.k, 1), config.at("tile_k"));
  const int split_k = config.family->index_of("split_k") < 0 ? 1 : config.at("split_k");
  return ceil_div(k_tiles, split_k) > prefetch / 2 * config.at("stages");
}

// The packing kernel knows one matrix; what cannot be read in place is loaded by elements.
bool packing_takes_single_matrices(const SpaceContext& context, const Config& config) {
  return config.at("pack") == 0 || (!context.problem.is_batched() && !context.problem.grouped);
}

bool packed_fits_the_workspace(const SpaceContext& context, const Config& config) {
  return packed_bytes(context.problem, config.at("pack")) <= kMostWorkspaceBytes;
}

bool k_is_not_zero(const SpaceContext& context, const Config&) { return context.problem.k > 0; }

bool is_needed(const Config& config, std::string_view parameter, std::int64_t size, int step) {
  const auto& values =
      config.family->parameters[static_cast<std::size_t>(config.family->index_of(parameter))]
          .values;
  const int value = config.at(parameter);
  int next_smaller = 0;
  for (const int candidate : values)
    if (candidate < value && candidate % step == 0) next_smaller = candidate;
  return next_smaller < size;
}

bool tile_m_is_needed(const SpaceContext& context, const Config& config) {
  return is_needed(config, "tile_m", context.problem.m);
}

bool tile_n_is_needed(const SpaceContext& context, const Config& config) {
  return is_needed(config, "tile_n", context.problem.n);
}

}  // namespace gemmsmith
