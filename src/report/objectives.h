// objectives.h -- what a counted config may be judged by besides its time: each objective is a term
// that is to be large, of which several span a Pareto front or, weighted, add up to one reward.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/counted_configs.h"

namespace gemmsmith::report {

struct Objective {
  const char* name;
  // Large is good: ln of a ratio, or a share from 0 to 1, negative where little of it is good.
  // Nothing where it is not known.
  std::optional<double> (*term)(const CountedConfig&);
  const char* meaning;
  bool needs_counting;  // known of counted configs alone
};

// time, energy, workspace, l2_hit_rate, sm_throughput, dram_throughput, dram_bytes, bank_conflicts.
// Occupancy and IPC are reported and never rewarded: a good kernel may need little of either.
std::span<const Objective> objectives();
std::string objective_names();  // "time, l2_hit_rate, ..."

// "time,l2_hit_rate". Errors (kBadInput): a name that is not known, or one twice.
Result<std::vector<const Objective*>> parse_objectives(std::string_view text);

struct Weighted {
  const Objective* objective;
  double weight;
};

// "time=1,l2_hit_rate=0.1". Errors (kBadInput) as above, and for a weight that is not a finite
// number.
Result<std::vector<Weighted>> parse_reward(std::string_view text);

// Indices of the configs that no other one of the same problem beats: none is at least as good in
// every objective and better in one. In the order given. A config of which an objective is not
// known is not on the front. `configs` are of one problem.
std::vector<std::size_t> pareto_front(std::span<const CountedConfig> configs,
                                      std::span<const Objective* const> wanted);

// The sum of weights times terms; nothing where one is not known.
std::optional<double> reward(const CountedConfig& config, std::span<const Weighted> terms);

}  // namespace gemmsmith::report
