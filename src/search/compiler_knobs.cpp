#include "search/compiler_knobs.h"

#include <map>
#include <set>
#include <string>

#include "search/selection.h"

namespace gemmsmith {

bool has_default_knobs(const Config& config) {
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const Parameter& parameter = config.family->parameters[i];
    if (parameter.finalists_only && config.values[i] != parameter.default_value) return false;
  }
  return true;
}

std::vector<Config> legal_knob_variants(const Config& config, const Problem& problem,
                                        const Target& target) {
  const std::vector<Parameter>& parameters = config.family->parameters;
  Config plain = config;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].finalists_only) plain.values[i] = parameters[i].default_value;
  std::vector<Config> variants;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].finalists_only) continue;
    for (const int value : parameters[i].values) {
      if (value == parameters[i].default_value) continue;
      Config variant = plain;
      variant.values[i] = value;
      if (broken_rule({problem, target}, variant) == nullptr) variants.push_back(variant);
    }
  }
  return variants;
}

bool knobs_were_tried(std::span<const Measurement> rows, const Problem& problem,
                      const Target& target) {
  const std::vector<Finalist> all = finalists(rows);
  std::set<std::string> paired;
  for (const Finalist& finalist : all) paired.insert(finalist.config);
  std::map<std::string, bool> ran;  // of those screened: without fault
  for (const Measurement& row : rows)
    if (row.kind == Kind::kKernel && row.stage == Stage::kScreen)
      ran[row.config] |= row.status == Status::kOk;
  bool has_base = false;
  for (const Finalist& finalist : all) {
    const auto config = parse_config(finalist.config, kernel_families());
    if (!config || !has_default_knobs(*config) || !finalist.ok()) continue;
    has_base = true;
    bool is_complete = true;
    bool owes_finals = false;
    for (const Config& variant : legal_knob_variants(*config, problem, target)) {
      const std::string text = to_text(variant);
      if (paired.count(text) != 0) return true;
      is_complete &= ran.count(text) != 0;
      owes_finals |= ran[text];
    }
    if (is_complete && !owes_finals) return true;
  }
  return !has_base;
}

}  // namespace gemmsmith
