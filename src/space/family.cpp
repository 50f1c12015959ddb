#include "space/family.h"

#include <array>

namespace gemmsmith {

int Family::index_of(std::string_view parameter) const {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == parameter) return static_cast<int>(i);
  return -1;
}

std::span<const Family* const> kernel_families() {
  static const std::array<const Family*, 2> families = {&sm90_ws_family(), &sm80_mma_family()};
  return families;
}

Config default_config(const Family& family) {
  Config config{&family, {}};
  config.values.reserve(family.parameters.size());
  for (const Parameter& parameter : family.parameters)
    config.values.push_back(parameter.default_value);
  return config;
}

const Constraint* broken_rule(const SpaceContext& context, const Config& config) {
  for (const Constraint& constraint : config.family->constraints)
    if (!constraint.holds(context, config)) return &constraint;
  return nullptr;
}

}  // namespace gemmsmith
