// common_constraints.h -- rules that several families share.
#pragma once

#include "space/family.h"

namespace gemmsmith {

bool arch_is_sm90(const SpaceContext& context, const Config& config);
bool arch_is_sm80_or_later(const SpaceContext& context, const Config& config);
bool layout_is_tn(const SpaceContext& context, const Config& config);
// What TMA and 16-byte cp.async both need of A and B: bases on 16 bytes, rows of whole 16 bytes.
bool operands_are_aligned(const SpaceContext& context, const Config& config);
bool k_is_not_zero(const SpaceContext& context, const Config& config);

// A tile larger than the dimension is legal work for the hardware but never useful when the next
// smaller value of the parameter covers the dimension as well.
bool tile_m_is_needed(const SpaceContext& context, const Config& config);
bool tile_n_is_needed(const SpaceContext& context, const Config& config);

}  // namespace gemmsmith
