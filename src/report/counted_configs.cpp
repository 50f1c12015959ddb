#include "report/counted_configs.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "plan/launch_plan.h"
#include "plan/launch_recipe.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::report {
namespace {

// The row that tells a config's time back to back.
const Measurement* time_of(const std::string& config, std::span<const StoredMeasurement> rows) {
  const Measurement* best = nullptr;
  for (const StoredMeasurement& row : rows) {
    const Measurement& m = row.measurement;
    const bool is_of_config =
        m.kind == Kind::kKernel || m.kind == Kind::kVendor || m.kind == Kind::kLtTuned;
    if (!is_of_config || m.config != config || m.status != Status::kOk ||
        m.setting != Setting::kChained)
      continue;
    if (best == nullptr || std::tie(best->stage, best->run) <= std::tie(m.stage, m.run)) best = &m;
  }
  return best;
}

Role role_of(const std::string& config, std::span<const StoredMeasurement> rows,
             const std::optional<Winner>& winner) {
  if (winner && winner->config == config) return Role::kPlan;
  for (const StoredMeasurement& row : rows)
    if (row.measurement.kind == Kind::kLtTuned && row.measurement.config == config)
      return Role::kLtTuned;
  return Role::kRival;
}

}  // namespace

const char* name(Role role) {
  switch (role) {
    case Role::kPlan:
      return "plan";
    case Role::kRival:
      return "rival";
    case Role::kLtTuned:
      return "lt_tuned";
  }
  return "?";
}

namespace {

// Adds times, and puts the plan first, then by time.
void complete(std::vector<CountedConfig>& configs, std::span<const StoredMeasurement> rows) {
  for (CountedConfig& one : configs)
    if (const Measurement* timed = time_of(one.counted.config, rows)) {
      one.us = timed->median_us;
      one.ratio = timed->ratio;
    }
  std::stable_sort(configs.begin(), configs.end(),
                   [](const CountedConfig& a, const CountedConfig& b) {
                     const auto rank = [](const CountedConfig& one) {
                       return std::pair(one.role != Role::kPlan,
                                        one.us.value_or(std::numeric_limits<double>::infinity()));
                     };
                     return rank(a) < rank(b);
                   });
}

std::vector<CountedConfig> newest_of(std::span<const StoredCounters> counters,
                                     std::span<const StoredMeasurement> rows,
                                     const std::optional<Winner>& winner) {
  std::vector<CountedConfig> configs;
  for (const StoredCounters& row : counters) {
    const auto known = std::find_if(configs.begin(), configs.end(), [&](const CountedConfig& one) {
      return one.counted.config == row.config;
    });
    if (known == configs.end())
      configs.push_back({role_of(row.config, rows, winner), row, {}, {}, {}});
    else if (known->counted.run <= row.run)
      known->counted = row;
  }
  return configs;
}

}  // namespace

std::vector<CountedConfig> counted_configs(std::span<const StoredCounters> counters,
                                           std::span<const StoredMeasurement> rows,
                                           const std::optional<Winner>& winner) {
  std::vector<CountedConfig> configs = newest_of(counters, rows, winner);
  complete(configs, rows);
  return configs;
}

std::vector<CountedConfig> measured_configs(std::span<const StoredCounters> counters,
                                            std::span<const StoredMeasurement> rows,
                                            const std::optional<Winner>& winner) {
  std::vector<CountedConfig> configs = newest_of(counters, rows, winner);
  std::set<std::string> known;
  for (const CountedConfig& one : configs) known.insert(one.counted.config);
  for (const StoredMeasurement& row : rows) {
    const Measurement& m = row.measurement;
    const bool is_config =
        (m.kind == Kind::kKernel || m.kind == Kind::kVendor || m.kind == Kind::kLtTuned) &&
        m.status == Status::kOk && m.setting == Setting::kChained;
    if (!is_config || !known.insert(m.config).second) continue;
    StoredCounters uncounted;
    uncounted.environment = row.environment;
    uncounted.problem = m.problem;
    uncounted.kind = m.kind == Kind::kKernel ? Kind::kKernel : Kind::kVendor;
    uncounted.config = m.config;
    uncounted.kernel_hash = row.kernel_hash;
    uncounted.run = m.run;
    configs.push_back({role_of(m.config, rows, winner), std::move(uncounted), {}, {}, {}});
  }
  complete(configs, rows);
  return configs;
}

std::optional<double> workspace_of(const StoredCounters& config, const Target& target,
                                   std::int64_t vendor_limit) {
  if (config.kind == Kind::kVendor)
    return static_cast<double>(vendor::workspace_bound(config.config, vendor_limit));
  const auto parsed = parse_config(config.config, kernel_families());
  if (!parsed || broken_rule({config.problem, target}, *parsed) != nullptr) return std::nullopt;
  const auto launch = plan::make_launch_plan(
      plan::make_recipe(*parsed, signature_of(config.problem), target), config.problem);
  if (!launch) return std::nullopt;
  return static_cast<double>(launch->workspace_bytes);
}

}  // namespace gemmsmith::report
