// footprint.h -- each family's threads and shared memory, behind footprint() of family.h.
#pragma once

#include "space/family.h"

namespace gemmsmith {

Footprint sm90_ws_footprint(const Config& config, DataType accumulator);
Footprint sm80_mma_footprint(const Config& config);

}  // namespace gemmsmith
