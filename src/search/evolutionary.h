// evolutionary.h -- a steady-state evolution over the space's own list: the best measured configs
// are crossed and changed, and the nearest config of the list that was not asked yet is the child.
//
// Whatever the operators make up, only legal, unmeasured configs are proposed; near the end, when
// the list around the best is measured, this becomes a local search by itself.
#pragma once

#include "search/strategy.h"

namespace gemmsmith {

std::unique_ptr<Strategy> make_evolutionary(const SearchSpace& space, std::uint64_t seed);

}  // namespace gemmsmith
