// ranked.h -- the analytic order itself: no learning, the rival that every strategy must beat.
#pragma once

#include "search/strategy.h"

namespace gemmsmith {

std::unique_ptr<Strategy> make_ranked(const SearchSpace& space);

}  // namespace gemmsmith
