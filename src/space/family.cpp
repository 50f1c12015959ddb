#include "space/family.h"

#include <algorithm>
#include <array>

#include "space/kernel_problem.h"

namespace gemmsmith {
namespace {

// The vendor's values are the library's own and are judged by it.
bool values_in_range(const SpaceContext&, const Config& config) {
  if (config.family->source.empty()) return true;
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const std::vector<int>& offered = config.family->parameters[i].values;
    const auto [least, most] = std::minmax_element(offered.begin(), offered.end());
    if (config.values[i] < *least || config.values[i] > *most) return false;
  }
  return true;
}

const Constraint& range_rule() {
  static const Constraint rule = {"values_in_range",
                                  "a parameter is below or above all values that the family offers",
                                  {},
                                  &values_in_range};
  return rule;
}

}  // namespace

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

std::vector<const Constraint*> broken_rules(const SpaceContext& context, const Config& config) {
  if (!values_in_range(context, config)) return {&range_rule()};
  const Problem problem = kernel_problem(context.problem, config);
  std::vector<const Constraint*> broken;
  for (const Constraint& constraint : config.family->constraints)
    if (!constraint.holds({problem, context.target}, config)) broken.push_back(&constraint);
  return broken;
}

const Constraint* broken_rule(const SpaceContext& context, const Config& config) {
  if (!values_in_range(context, config)) return &range_rule();
  const Problem problem = kernel_problem(context.problem, config);
  for (const Constraint& constraint : config.family->constraints)
    if (!constraint.holds({problem, context.target}, config)) return &constraint;
  return nullptr;
}

}  // namespace gemmsmith
