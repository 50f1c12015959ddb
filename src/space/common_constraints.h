// common_constraints.h -- rules that several families share.
#pragma once

#include <cstdint>
#include <string_view>

#include "space/family.h"

namespace gemmsmith {

bool arch_is_sm90(const SpaceContext& context, const Config& config);
bool arch_is_sm80_or_later(const SpaceContext& context, const Config& config);
// Of parameter `pack` (space/packing.h).
bool unreadable_operands_are_packed(const SpaceContext& context, const Config& config);
bool packing_may_pay(const SpaceContext& context, const Config& config);
bool packing_takes_single_matrices(const SpaceContext& context, const Config& config);
bool packed_fits_the_workspace(const SpaceContext& context, const Config& config);
// Of parameter `prefetch`.
bool prefetch_comes_before_a_wait(const SpaceContext& context, const Config& config);
bool prefetch_has_k_tiles(const SpaceContext& context, const Config& config);
bool k_is_not_zero(const SpaceContext& context, const Config& config);

// A tile larger than the dimension is legal work for the hardware but never useful when the next
// smaller value of the parameter covers the dimension as well.
bool tile_m_is_needed(const SpaceContext& context, const Config& config);
bool tile_n_is_needed(const SpaceContext& context, const Config& config);

// The same of any parameter and size, where only multiples of `step` can be smaller values.
bool is_needed(const Config& config, std::string_view parameter, std::int64_t size, int step = 1);

}  // namespace gemmsmith
