#include "cli/counted_table.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/interrupt.h"
#include "base/numbers.h"
#include "cli/store_reading.h"
#include "measure/targets.h"
#include "search/judgement.h"

namespace gemmsmith::cli {
namespace {

using report::CountedConfig;

Cell number(const std::optional<double>& value, int decimals) {
  return Cell(value.value_or(std::numeric_limits<double>::quiet_NaN()), decimals);
}

std::optional<double> mib_of(const std::optional<double>& bytes) {
  return bytes ? std::optional<double>(*bytes / kMib) : std::nullopt;
}

// "sm_throughput, ipc": the targets that the figures miss; "none", or "-" where none is known.
std::string missed_targets(const CounterValues& values) {
  std::string missed;
  bool is_known = false;
  for (const CounterTarget& target : counter_targets()) {
    const std::optional<bool> met = is_met(target, values);
    is_known = is_known || met;
    if (met && !*met) missed += fmt::format("{}{}", missed.empty() ? "" : ", ", target.key);
  }
  if (!is_known) return "-";
  return missed.empty() ? "none" : missed;
}

std::vector<std::string> columns_of(const CountedView& view, OutputFormat format) {
  std::vector<std::string> columns = {"shape", "who",       "config",       "us",
                                      "ratio", "energy_uj", "workspace_mib"};
  for (const CounterTarget& target : counter_targets()) columns.emplace_back(target.key);
  columns.emplace_back("missed");
  columns.emplace_back("policy");
  if (!view.reward.empty()) columns.emplace_back("reward");
  if (format == OutputFormat::kText) return columns;
  for (const char* more : {"type", "acc", "layout", "kind", "run", "chip", "passes", "kernels"})
    columns.emplace_back(more);
  for (const CounterTarget& target : counter_targets())
    columns.push_back(fmt::format("{}_met", target.key));
  for (const CounterRow& counter : counter_table()) columns.emplace_back(counter.name);
  return columns;
}

std::vector<Cell> row_of(const CountedConfig& config, const CountedView& view,
                         OutputFormat format) {
  const StoredCounters& counted = config.counted;
  const CounterValues& v = counted.values;
  std::vector<Cell> row = {shape_name(counted.problem),
                           name(config.role),
                           counted.config,
                           number(config.us, 2),
                           number(config.ratio, 3),
                           number(v.energy_uj, 1),
                           number(mib_of(config.workspace_bytes), 1)};
  for (const CounterTarget& target : counter_targets()) row.push_back(number(target.figure(v), 1));
  row.emplace_back(missed_targets(v));
  row.emplace_back(judge(view.policy, v).text);
  if (!view.reward.empty()) row.push_back(number(report::reward(config, view.reward), 4));
  if (format == OutputFormat::kText) return row;
  for (Cell cell : {Cell(name(counted.problem.type)), Cell(name(counted.problem.accumulator)),
                    Cell(name(counted.problem.layout)), Cell(name(counted.kind)), Cell(counted.run),
                    Cell(counted.chip), Cell(counted.passes), Cell(counted.kernels)})
    row.push_back(std::move(cell));
  for (const CounterTarget& target : counter_targets()) {
    const std::optional<bool> met = is_met(target, v);
    row.emplace_back(met ? (*met ? "yes" : "no") : "");
  }
  for (const CounterRow& counter : counter_table()) row.push_back(number(v[counter.counter], 3));
  return row;
}

// The configs of one problem, as the view wants them.
std::vector<CountedConfig> viewed(std::span<const CountedConfig> configs, const CountedView& view) {
  std::vector<CountedConfig> wanted;
  if (view.objectives.empty())
    wanted.assign(configs.begin(), configs.end());
  else
    for (const std::size_t i : report::pareto_front(configs, view.objectives))
      wanted.push_back(configs[i]);
  if (view.reward.empty()) return wanted;
  const auto key = [&](const CountedConfig& config) {
    return report::reward(config, view.reward).value_or(-std::numeric_limits<double>::infinity());
  };
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const CountedConfig& a, const CountedConfig& b) { return key(a) > key(b); });
  return wanted;
}

}  // namespace

void CountedOptions::add_to(CLI::App& app) {
  app.add_option("--objectives", objectives,
                 "Of all that was measured, only each shape's Pareto front over these: " +
                     report::objective_names() +
                     "; all but time and workspace are known of what was counted alone");
  app.add_option("--reward", reward,
                 "Order what was counted by a sum of weighted objectives: time=1,l2_hit_rate=0.1");
  app.add_option("--monitor-policy", monitor_policy,
                 "Judge what was counted by these rules (docs/monitor.md) [the built-in policy]");
}

bool CountedView::needs_counting() const {
  return std::any_of(objectives.begin(), objectives.end(),
                     [](const report::Objective* one) { return one->needs_counting; }) ||
         std::any_of(reward.begin(), reward.end(),
                     [](const report::Weighted& one) { return one.objective->needs_counting; });
}

Result<CountedView> counted_view(const CountedOptions& options) {
  CountedView view;
  if (!options.objectives.empty()) {
    GEMMSMITH_TRY(view.objectives, report::parse_objectives(options.objectives));
  }
  if (!options.reward.empty()) {
    GEMMSMITH_TRY(view.reward, report::parse_reward(options.reward));
  }
  if (options.monitor_policy.empty()) {
    GEMMSMITH_TRY(view.policy,
                  monitor::parse_policy(monitor::default_policy_text(), "built-in policy"));
    return view;
  }
  GEMMSMITH_TRY(view.policy, monitor::read_policy(options.monitor_policy));
  const auto is_counted = [](const monitor::Rule& rule) {
    return is_told_by_counters(rule.metric);
  };
  if (std::none_of(view.policy.rules.begin(), view.policy.rules.end(), is_counted)) {
    const monitor::Rule& rule = view.policy.rules.front();
    return fail(ErrorCode::kBadInput,
                "{}:{}:{}: no rule has a metric that counters tell, {} is known of a serving "
                "process only: add one of l2_miss_pct, sm_throughput_pct, bank_conflict_pct, "
                "dram_pct, occupancy_pct, ipc",
                options.monitor_policy, rule.line, rule.column,
                monitor::metrics()[rule.metric].name);
  }
  return view;
}

Result<std::vector<CountedConfig>> read_counted(const Store& store, const Environment& environment,
                                                const std::vector<Problem>* problems,
                                                const CountedView& view,
                                                std::int64_t vendor_workspace) {
  std::vector<Problem> wanted;
  const auto add = [&](const Problem& problem) {
    if (std::find(wanted.begin(), wanted.end(), problem) == wanted.end()) wanted.push_back(problem);
  };
  if (problems != nullptr) {
    wanted = *problems;
  } else if (view.shows_measured()) {
    GEMMSMITH_TRY(const std::vector<StoredWinner> all, store.winners());
    for (const StoredWinner& row : all)
      if (row.environment == environment) add(row.winner.problem);
  } else {
    GEMMSMITH_TRY(const std::vector<StoredCounters> all, store.all_counters());
    for (const StoredCounters& row : all)
      if (row.environment == environment) add(row.problem);
  }
  // Without it nobody knows what a launch needs: an imported environment may lack it.
  const auto device = device_of(store, environment);
  std::vector<CountedConfig> configs;
  for (const Problem& problem : wanted) {
    // What tuning counted is shown even after a Ctrl-C; it names its problems.
    if (problems == nullptr) GEMMSMITH_CHECK(go_on("reading " + store.path().string()));
    GEMMSMITH_TRY(const auto counters, store.counters(environment, problem));
    if (counters.empty() && !view.shows_measured()) continue;
    GEMMSMITH_TRY(const auto rows, store.measurements(environment, problem));
    GEMMSMITH_TRY(const auto winner, store.winner(environment, problem));
    for (CountedConfig& config : view.shows_measured()
                                     ? report::measured_configs(counters, rows, winner)
                                     : report::counted_configs(counters, rows, winner)) {
      if (device)
        config.workspace_bytes =
            report::workspace_of(config.counted, device->target, vendor_workspace);
      configs.push_back(std::move(config));
    }
  }
  return configs;
}

Table counted_table(std::span<const CountedConfig> configs, const CountedView& view,
                    OutputFormat format) {
  Table table(columns_of(view, format));
  for (std::size_t first = 0; first < configs.size();) {
    std::size_t last = first + 1;
    while (last < configs.size() && configs[last].counted.problem == configs[first].counted.problem)
      ++last;
    for (const CountedConfig& config : viewed(configs.subspan(first, last - first), view))
      table.add(row_of(config, view, format));
    first = last;
  }
  return table;
}

}  // namespace gemmsmith::cli
