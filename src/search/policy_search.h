// policy_search.h -- the strategy that asks for what a trained policy prefers, and lets every
// result correct it. Deterministic: the policy and the results decide.
#pragma once

#include <memory>

#include "search/strategy.h"

namespace gemmsmith {

// The space must carry a policy.
std::unique_ptr<Strategy> make_policy_search(const SearchSpace& space);

}  // namespace gemmsmith
