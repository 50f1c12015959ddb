// tile_orders.h -- other orders in which a kernel may compute its tiles, by the memory traffic that
// the L2 model predicts for them. An order is bound at launch: to try another compiles nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "space/family.h"

namespace gemmsmith::policy {

// Configs of the same kernel that differ in launch-time order alone and are legal. Empty for a
// family that has no order.
std::vector<Config> other_orders(const Config& config, const SpaceContext& context);

// At most `most` of them that are predicted to move less than `share` of the memory that the config
// itself would, the least first. The prediction takes up to 15 ms an order where tiles are many.
std::vector<Config> quieter_orders(const Config& config, const SpaceContext& context, double share,
                                   std::size_t most);

}  // namespace gemmsmith::policy
