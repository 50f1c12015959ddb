#include "plan/plan_hints.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/plan_likeness.h"
#include "space/family.h"
#include "space/kernel_problem.h"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

struct Hint {
  const PlanEntry* entry = nullptr;
  bool is_turned = false;  // its problem is the transposed one's neighbour
  double distance = 0;
};

std::vector<Hint> by_distance(const PlanTable& table, const PlanKey& key) {
  constexpr double kTurning = 0.01;  // doublings; only breaks ties
  PlanKey turned = key;
  std::swap(turned.m, turned.n);
  std::vector<Hint> hints;
  for (const PlanEntry& entry : table.entries()) {
    if (entry.source != PlanSource::kKernel || entry.key.grouped != key.grouped) continue;
    hints.push_back({&entry, false, doublings_between(entry.key, key)});
    hints.push_back({&entry, true, doublings_between(entry.key, turned) + kTurning});
  }
  std::stable_sort(hints.begin(), hints.end(),
                   [](const Hint& a, const Hint& b) { return a.distance < b.distance; });
  return hints;
}

// The hint's config as the problem can have it.
std::optional<Config> legal_config(const Hint& hint, std::string_view text, const Problem& problem,
                                   const Target& target) {
  auto config = parse_config(text, kernel_families());
  if (!config) return std::nullopt;  // of a gemmsmith that had another space
  if (hint.is_turned) {
    if (config->family->index_of("transpose") < 0) return std::nullopt;
    config->set("transpose", 1 - config->at("transpose"));
  }
  const bool packs = !problem.is_batched() && !problem.grouped;
  config->set("pack", packs ? needed_pack(kernel_problem(problem, *config)) : 0);
  if (config->at("pack") != 0) config->set("prefetch", 0);
  if (broken_rule({problem, target}, *config) != nullptr) return std::nullopt;
  return *std::move(config);
}

}  // namespace

std::vector<Config> hinted_configs(const PlanTable& table, const Problem& problem,
                                   const Target& target, std::size_t most) {
  std::vector<Config> configs;
  if (problem.is_empty()) return configs;
  for (const Hint& hint : by_distance(table, key_of(problem))) {
    if (configs.size() == most) break;
    auto config = legal_config(hint, table.text(*hint.entry), problem, target);
    if (config && std::find(configs.begin(), configs.end(), *config) == configs.end())
      configs.push_back(*std::move(config));
  }
  return configs;
}

}  // namespace gemmsmith::plan
