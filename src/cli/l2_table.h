// l2_table.h -- the L2 model's prediction for a config and for its other tile orders, as a table.
#pragma once

#include "base/table.h"
#include "space/family.h"

namespace gemmsmith::cli {

Table make_l2_table();

// The config first, then every other group and raster that is legal and moves other bytes, the
// least memory traffic first: what another launch of the same kernel would change. Error as
// policy::predict_l2's.
Result<void> add_l2_rows(const Config& config, const SpaceContext& context, Table& table);

}  // namespace gemmsmith::cli
