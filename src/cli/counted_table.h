// counted_table.h -- counted configs side by side, the targets they miss and what the monitor's
// policy says of them: printed by tune, and by store counters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/table.h"
#include "cli/verb.h"
#include "monitor/policy.h"
#include "report/counted_configs.h"
#include "report/objectives.h"

namespace gemmsmith::cli {

// How counted configs are looked at, as the user said it.
struct CountedOptions {
  std::string objectives;      // only each shape's Pareto front
  std::string reward;          // best first, with the figure
  std::string monitor_policy;  // a file; the built-in policy where empty

  void add_to(CLI::App& app);
  bool asks_anything() const {
    return !objectives.empty() || !reward.empty() || !monitor_policy.empty();
  }
};

struct CountedView {
  std::vector<const report::Objective*> objectives;
  std::vector<report::Weighted> reward;
  monitor::Policy policy;

  // Of all that was measured, not only of what was counted: a front is of all configs that there
  // are.
  bool shows_measured() const { return !objectives.empty(); }
  // Whether anything that was asked is known of counted configs alone.
  bool needs_counting() const;
};

// Errors (kBadInput): a wrong objective, weight or policy, and a policy of whose metrics counters
// tell none.
Result<CountedView> counted_view(const CountedOptions& options);

// What the view shows of an environment, problem by problem. All problems that were counted, or
// measured, where `problems` is null. `vendor_workspace`: bytes that a configuration of cuBLASLt's
// may have.
Result<std::vector<report::CountedConfig>> read_counted(const Store& store,
                                                        const Environment& environment,
                                                        const std::vector<Problem>* problems,
                                                        const CountedView& view,
                                                        std::int64_t vendor_workspace);

// `configs` of one problem lie next to each other. For people the six targets' figures and what is
// missed; for machines also every counter.
Table counted_table(std::span<const report::CountedConfig> configs, const CountedView& view,
                    OutputFormat format);

}  // namespace gemmsmith::cli
