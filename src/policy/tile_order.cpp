// Bands of `group` tiles, each walked along the major dimension, every second one backwards.
#include "policy/tile_order.h"

#include <algorithm>

namespace gemmsmith::policy {

TilePlace tile_at(const TileOrder& order, std::int64_t index) {
  const std::int64_t minor_count = order.along_n ? order.count_n : order.count_m;
  const std::int64_t major_count = order.along_n ? order.count_m : order.count_n;
  const std::int64_t group = std::min(order.group, minor_count);
  const std::int64_t band = index / (group * major_count);
  const std::int64_t in_band = index % (group * major_count);
  const std::int64_t width = std::min(group, minor_count - band * group);
  const std::int64_t step = in_band / width;
  const std::int64_t minor = band * group + in_band % width;
  const std::int64_t major = band % 2 == 1 ? major_count - 1 - step : step;
  return order.along_n ? TilePlace{major, minor} : TilePlace{minor, major};
}

}  // namespace gemmsmith::policy
