#include "measure/targets.h"

#include <fmt/format.h>

namespace gemmsmith {
namespace {

std::optional<double> dram_percent(const CounterValues& v) { return v[Counter::kDramPercent]; }
std::optional<double> occupancy(const CounterValues& v) { return v[Counter::kOccupancyPercent]; }
std::optional<double> ipc(const CounterValues& v) { return v[Counter::kIpc]; }

constexpr std::array<CounterTarget, 6> kTargets = {{
    {"SM throughput", "sm_throughput", "%", Bound::kAbove, 85, sm_percent},
    {"bank conflicts", "bank_conflicts", "%", Bound::kBelow, 5, bank_conflict_percent},
    {"L2 hits", "l2_hits", "%", Bound::kAbove, 90, l2_hit_percent},
    {"DRAM throughput", "dram", "%", Bound::kBelow, 80, dram_percent},
    {"occupancy", "occupancy", "%", Bound::kAbove, 50, occupancy},
    {"IPC", "ipc", "", Bound::kAbove, 2, ipc},
}};

}  // namespace

const std::array<CounterTarget, 6>& counter_targets() { return kTargets; }

std::string rule_text(const CounterTarget& target) {
  return fmt::format("{} {:g}{}{}", target.bound == Bound::kAbove ? ">" : "<", target.threshold,
                     *target.unit == '\0' ? "" : " ", target.unit);
}

std::optional<bool> is_met(const CounterTarget& target, const CounterValues& values) {
  const std::optional<double> figure = target.figure(values);
  if (!figure) return std::nullopt;
  return target.bound == Bound::kAbove ? *figure > target.threshold : *figure < target.threshold;
}

}  // namespace gemmsmith
