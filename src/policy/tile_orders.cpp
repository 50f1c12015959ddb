#include "policy/tile_orders.h"

#include <algorithm>
#include <utility>

#include "policy/l2_model.h"

namespace gemmsmith::policy {

std::vector<Config> other_orders(const Config& config, const SpaceContext& context) {
  const Family& family = *config.family;
  std::vector<Config> others;
  if (family.index_of("raster") < 0 || family.index_of("group") < 0) return others;
  for (const int raster :
       family.parameters[static_cast<std::size_t>(family.index_of("raster"))].values)
    for (const int group :
         family.parameters[static_cast<std::size_t>(family.index_of("group"))].values) {
      Config other = config;
      other.set("raster", raster);
      other.set("group", group);
      if (!(other == config) && broken_rule(context, other) == nullptr)
        others.push_back(std::move(other));
    }
  return others;
}

std::vector<Config> quieter_orders(const Config& config, const SpaceContext& context, double share,
                                   std::size_t most) {
  const auto own = predict_l2(context.problem, config, context.target);
  if (!own) return {};
  std::vector<std::pair<double, Config>> quieter;
  for (Config& other : other_orders(config, context)) {
    const auto traffic = predict_l2(context.problem, other, context.target);
    if (traffic && traffic->memory() < share * own->memory())
      quieter.emplace_back(traffic->memory(), std::move(other));
  }
  std::stable_sort(quieter.begin(), quieter.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> orders;
  for (auto& [memory, other] : quieter)
    if (orders.size() < most) orders.push_back(std::move(other));
  return orders;
}

}  // namespace gemmsmith::policy
