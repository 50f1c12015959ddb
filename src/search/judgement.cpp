#include "search/judgement.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gemmsmith {
namespace {

struct Source {
  std::string_view metric;
  std::optional<double> (*figure)(const CounterValues&);
};

std::optional<double> l2_miss_percent(const CounterValues& v) {
  const std::optional<double> hits = l2_hit_percent(v);
  return hits ? std::optional<double>(100 - *hits) : std::nullopt;
}

constexpr std::array<Source, 6> kSources = {{
    {"l2_miss_pct", l2_miss_percent},
    {"sm_throughput_pct", sm_percent},
    {"bank_conflict_pct", bank_conflict_percent},
    {"dram_pct", [](const CounterValues& v) { return v[Counter::kDramPercent]; }},
    {"occupancy_pct", [](const CounterValues& v) { return v[Counter::kOccupancyPercent]; }},
    {"ipc", [](const CounterValues& v) { return v[Counter::kIpc]; }},
}};

}  // namespace

std::vector<std::optional<double>> monitor_values(const CounterValues& counters) {
  std::vector<std::optional<double>> values;
  for (const monitor::Metric& metric : monitor::metrics()) {
    values.emplace_back();
    for (const Source& source : kSources)
      if (source.metric == metric.name) values.back() = source.figure(counters);
  }
  return values;
}

bool is_told_by_counters(std::size_t metric) {
  return std::any_of(kSources.begin(), kSources.end(), [&](const Source& source) {
    return source.metric == monitor::metrics()[metric].name;
  });
}

Judgement judge(const monitor::Policy& policy, const CounterValues& counters) {
  const std::vector<std::optional<double>> values = monitor_values(counters);
  Judgement judgement;
  for (const monitor::Rule& rule : policy.rules) {
    const std::optional<double>& value = values[rule.metric];
    if (!value) continue;
    ++judgement.judged;
    if (!rule.is_bad(*value)) continue;
    judgement.broken.push_back(&rule);
    judgement.text += fmt::format("{}{}: {} {:.1f} {} {:g}", judgement.text.empty() ? "" : "; ",
                                  rule.name, monitor::metrics()[rule.metric].name, *value,
                                  rule.above ? "above" : "below", rule.threshold);
  }
  if (judgement.text.empty()) judgement.text = judgement.judged > 0 ? "kept" : "-";
  return judgement;
}

}  // namespace gemmsmith
