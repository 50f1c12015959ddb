#include "cli/profile_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "device/nvml.h"
#include "measure/targets.h"

namespace gemmsmith::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const CounterValues& counters_of(const Profile& profile) {
  static const CounterValues none;
  return profile.counted ? profile.counted->values : none;
}

std::optional<double> load_figure(const Profile& profile,
                                  std::optional<double> LoadReport::*figure) {
  return profile.load ? (*profile.load).*figure : std::nullopt;
}

std::string text_of(const std::optional<double>& value, int decimals) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string met_text(const CounterTarget& target, const CounterValues& values) {
  const std::optional<double> figure = target.figure(values);
  if (!figure) return "-";
  return fmt::format("{:.1f} {}", *figure, *is_met(target, values) ? "met" : "not met");
}

std::string throttling(const Profile& profile) {
  if (!profile.load || !profile.load->throttled) return "-";
  return throttle_text(*profile.load->throttled);
}

// One line of a block: what, the rule where there is one, and a cell for each kernel.
template <class CellOf>
void add_line(Table& table, std::string what, std::string rule, std::span<const Profile> profiles,
              const CellOf& cell_of) {
  std::vector<Cell> row = {std::move(what), std::move(rule)};
  for (const Profile& profile : profiles) row.emplace_back(cell_of(profile));
  table.add(std::move(row));
}

std::string block(std::span<const Profile> profiles) {
  std::vector<std::string> columns = {shape_name(profiles.front().problem), "target"};
  for (const Profile& profile : profiles) columns.push_back(profile.who);
  Table table(std::move(columns));
  const auto line = [&](const char* what, int decimals, const auto& figure) {
    add_line(table, what, "", profiles,
             [&](const Profile& p) { return text_of(figure(p), decimals); });
  };
  using Figure = std::optional<double>;
  const auto timed = [](const Profile& p, double Measurement::*member) -> Figure {
    return p.timed.status == Status::kOk ? Figure(p.timed.*member) : std::nullopt;
  };
  line("time us", 3, [&](const Profile& p) { return timed(p, &Measurement::median_us); });
  line("times as fast as lt_tuned", 3,
       [&](const Profile& p) { return timed(p, &Measurement::ratio); });
  for (const CounterTarget& target : counter_targets()) {
    std::string what = target.name;
    if (target.figure == sm_percent && !sm_percent_is_exact(counters_of(profiles.front())))
      what += " (its busiest pipe)";
    if (*target.unit != '\0') what += fmt::format(" {}", target.unit);
    add_line(table, std::move(what), rule_text(target), profiles,
             [&](const Profile& p) { return met_text(target, counters_of(p)); });
  }
  const auto counted = [&](const char* what, int decimals, Counter counter, double scale) {
    line(what, decimals, [&](const Profile& p) -> Figure {
      const Figure& value = counters_of(p)[counter];
      return value ? Figure(*value * scale) : std::nullopt;
    });
  };
  constexpr double kPerMib = 1.0 / (1 << 20);
  counted("tensor pipe %", 1, Counter::kTensorPercent, 1);
  counted("issue slots %", 1, Counter::kIssuePercent, 1);
  counted("shared-memory pipe %", 1, Counter::kSharedPipePercent, 1);
  counted("L2 sectors % of peak", 1, Counter::kL2Percent, 1);
  line("L2 read hits %", 1, [](const Profile& p) { return l2_read_hit_percent(counters_of(p)); });
  line("reads served by L2 %", 1,
       [](const Profile& p) { return l2_served_percent(counters_of(p)); });
  counted("DRAM read MiB", 2, Counter::kDramReadBytes, kPerMib);
  counted("DRAM written MiB", 2, Counter::kDramWriteBytes, kPerMib);
  line("least that must move MiB", 2,
       [](const Profile& p) { return Figure(p.problem.min_bytes() * kPerMib); });
  line("SMs with work %", 1, [](const Profile& p) { return active_percent(counters_of(p)); });
  counted("CTAs", 0, Counter::kCtas, 1);
  counted("alone, L2 empty, us", 3, Counter::kTimeNs, 1e-3);
  line("power W", 0, [](const Profile& p) { return load_figure(p, &LoadReport::power_w); });
  line("energy uJ", 0, [](const Profile& p) { return load_figure(p, &LoadReport::energy_uj); });
  line("SM clock MHz", 0,
       [](const Profile& p) { return load_figure(p, &LoadReport::sm_clock_mhz); });
  add_line(table, "throttled by", "", profiles, throttling);
  std::string text = table.render(OutputFormat::kText);
  for (const Profile& profile : profiles) {
    text += fmt::format("{}{}{}: limited by {}: {}\n", profile.who,
                        profile.timed.config.empty() ? "" : " ", profile.timed.config,
                        name(profile.verdict.limiter), profile.verdict.sentence);
    if (profile.timed.status != Status::kOk)
      text += fmt::format("{}: {}, {}\n", profile.who, name(profile.timed.status),
                          profile.timed.detail);
    if (profile.counted && profile.counted->status != Status::kOk)
      text += fmt::format("{}: counting: {}, {}\n", profile.who, name(profile.counted->status),
                          profile.counted->detail);
  }
  return text;
}

Table rows(std::span<const Profile> profiles) {
  std::vector<std::string> columns = {
      "shape",     "who",           "config",     "status",        "us",
      "ratio",     "limiter",       "sentence",   "power_w",       "power_limit_w",
      "energy_uj", "sm_clock_mhz",  "memory_mhz", "temperature_c", "throttled",
      "load_us",   "throttled_pct", "chip",       "kernels",       "passes"};
  for (const CounterTarget& target : counter_targets()) {
    columns.push_back(fmt::format("{}_value", target.key));
    columns.push_back(fmt::format("{}_met", target.key));
  }
  for (const char* derived : {"sm_exact", "l2_read_hit_pct", "l2_sm_read_hit_pct", "l2_served_pct",
                              "sm_active_pct", "least_bytes"})
    columns.emplace_back(derived);
  for (const CounterRow& counter : counter_table()) columns.emplace_back(counter.name);
  Table table(std::move(columns));
  const auto number = [](const std::optional<double>& value) {
    return Cell(value.value_or(kNone), 3);
  };
  for (const Profile& p : profiles) {
    const CounterValues& v = counters_of(p);
    const bool is_timed = p.timed.status == Status::kOk;
    const bool is_loaded = p.load && p.load->status == Status::kOk;
    const auto slowed = load_figure(p, &LoadReport::throttled_share);
    std::vector<Cell> row = {shape_name(p.problem),
                             p.who,
                             p.timed.config,
                             name(p.timed.status),
                             Cell(is_timed ? p.timed.median_us : kNone, 3),
                             Cell(is_timed ? p.timed.ratio : kNone, 4),
                             name(p.verdict.limiter),
                             p.verdict.sentence,
                             number(load_figure(p, &LoadReport::power_w)),
                             number(load_figure(p, &LoadReport::power_limit_w)),
                             number(load_figure(p, &LoadReport::energy_uj)),
                             number(load_figure(p, &LoadReport::sm_clock_mhz)),
                             number(load_figure(p, &LoadReport::memory_clock_mhz)),
                             number(load_figure(p, &LoadReport::temperature_c)),
                             throttling(p),
                             Cell(is_loaded ? p.load->us : kNone, 3),
                             Cell(slowed ? 100 * *slowed : kNone, 1),
                             p.counted ? p.counted->chip : "",
                             p.counted ? p.counted->kernels : 0,
                             p.counted ? p.counted->passes : 0};
    for (const CounterTarget& target : counter_targets()) {
      const std::optional<bool> met = is_met(target, v);
      row.push_back(number(target.figure(v)));
      row.emplace_back(met ? (*met ? "yes" : "no") : "");
    }
    row.emplace_back(sm_percent_is_exact(v) ? "yes" : "no");
    row.push_back(number(l2_read_hit_percent(v)));
    row.push_back(number(l2_sm_read_hit_percent(v)));
    row.push_back(number(l2_served_percent(v)));
    row.push_back(number(active_percent(v)));
    row.emplace_back(p.problem.min_bytes(), 0);
    for (const CounterRow& counter : counter_table()) row.push_back(number(v[counter.counter]));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

std::string render_profiles(const std::vector<Profile>& profiles, OutputFormat format) {
  if (format != OutputFormat::kText) return rows(profiles).render(format);
  std::string text;
  for (std::size_t first = 0; first < profiles.size();) {
    std::size_t last = first + 1;
    while (last < profiles.size() && profiles[last].problem == profiles[first].problem) ++last;
    text += (text.empty() ? "" : "\n") + block(std::span(profiles).subspan(first, last - first));
    first = last;
  }
  return text;
}

}  // namespace gemmsmith::cli
