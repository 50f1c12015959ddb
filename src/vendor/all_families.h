// all_families.h -- every family that a config's text may name: ours and the vendor's. What reads
// configs from users, stores and recordings parses them against this list.
#pragma once

#include <span>

#include "space/family.h"

namespace gemmsmith {

std::span<const Family* const> all_families();

}  // namespace gemmsmith
