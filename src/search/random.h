// random.h -- every config of the space equally likely, without repeats: the baseline of searching.
#pragma once

#include "search/strategy.h"

namespace gemmsmith {

std::unique_ptr<Strategy> make_random(const SearchSpace& space, std::uint64_t seed);

}  // namespace gemmsmith
