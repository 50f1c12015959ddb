#include "report/counted_configs.h"

#include <algorithm>
#include <limits>
#include <tuple>

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

std::vector<CountedConfig> counted_configs(std::span<const StoredCounters> counters,
                                           std::span<const StoredMeasurement> rows,
                                           const std::optional<Winner>& winner) {
  std::vector<CountedConfig> configs;
  for (const StoredCounters& row : counters) {
    const auto known = std::find_if(configs.begin(), configs.end(), [&](const CountedConfig& one) {
      return one.counted.config == row.config;
    });
    if (known == configs.end())
      configs.push_back({role_of(row.config, rows, winner), row, {}, {}});
    else if (known->counted.run <= row.run)
      known->counted = row;
  }
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
  return configs;
}

}  // namespace gemmsmith::report
