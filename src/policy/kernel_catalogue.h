// kernel_catalogue.h -- the kernels that tuning proposes by itself: a few hundred of each family's
// tens of thousands, chosen so that every kind of shape finds several that suit it. Compiling takes
// about a second a kernel, so their number is what a first tuning run costs.
#pragma once

#include <vector>

#include "space/family.h"

namespace gemmsmith::policy {

// Launch-time parameters are at their default. Every entry is legal on the target for some aligned
// problem of these types.
std::vector<Config> kernel_catalogue(const Target& target, const Signature& signature);

}  // namespace gemmsmith::policy
