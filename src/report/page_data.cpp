// Columns of the shapes, the tables beside them, and the spaces.
#include "report/page_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "measure/floors.h"
#include "report/kernel_front.h"
#include "report/losses.h"
#include "search/selection.h"

namespace gemmsmith::report {
namespace {

using nlohmann::json;

constexpr int kMostFrontKernels = 96;
constexpr double kRatioUnits = 1e4;  // ratios of a space are whole numbers of these parts

// Five digits: below what a paired measurement can tell apart.
json figure(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

json positive(double value) { return value > 0 ? figure(value) : json(nullptr); }

// Config texts as numbers, the frequent ones first: their numbers are short.
class ConfigList {
 public:
  explicit ConfigList(std::span<const Measurement> rows) {
    std::map<std::string_view, std::int64_t> uses;
    for (const Measurement& row : rows)
      if (!row.config.empty()) ++uses[row.config];
    std::vector<std::pair<std::string_view, std::int64_t>> order(uses.begin(), uses.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [text, count] : order) {
      places_[text] = static_cast<int>(texts_.size());
      texts_.emplace_back(text);
    }
  }
  int place(std::string_view config) const {
    const auto found = places_.find(config);
    return found == places_.end() ? -1 : found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string_view, int> places_;  // views into the rows
  std::vector<std::string> texts_;
};

json means_json(const std::string& bucket, const Means& m) {
  return {{"name", bucket},
          {"shapes", m.shapes},
          {"raw", positive(m.raw)},
          {"raw_foreign", positive(m.raw_foreign)},
          {"best", positive(m.ours_and_vendor)},
          {"best_foreign", positive(m.ours_and_vendor_foreign)},
          {"served", positive(m.served)},
          {"served_foreign", positive(m.served_foreign)},
          {"raw_wins", m.raw_wins},
          {"raw_losses", m.raw_losses},
          {"served_wins", m.served_wins},
          {"served_losses", m.served_losses}};
}

void add_side(json& columns, const std::string& name, const std::optional<Side>& side,
              const ConfigList& configs) {
  columns[name].push_back(side ? positive(side->chained) : json(nullptr));
  columns[name + "_foreign"].push_back(side ? positive(side->foreign) : json(nullptr));
  columns[name + "_us"].push_back(side ? positive(side->chained_us) : json(nullptr));
  columns[name + "_config"].push_back(side ? configs.place(side->config) : -1);
}

json shape_columns(const Scoreboard& board, const ConfigList& configs) {
  json columns = json::object();
  const auto add = [&](const char* column, json value) {
    columns[column].push_back(std::move(value));
  };
  for (const ShapeLine& line : board.shapes) {
    const Problem& p = line.problem;
    add("name", shape_name(p));
    add("kind", describe(signature_of(p)));
    add("m", p.m);
    add("n", p.n);
    add("k", p.k);
    add("gflop", figure(p.flop() / 1e9));
    add("mib", figure(p.min_bytes() / (1 << 20)));
    add("hot", line.cache == CacheState::kHot ? 1 : 0);
    add("floor_us", figure(line.impossible_floor_us));
    add("expected_us", figure(line.expected_floor_us));
    add("lt_us", figure(line.lt_tuned_us));
    add("lt_config", configs.place(line.lt_tuned_config));
    for (const Kind kind : {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst}) {
      const auto found = line.baselines.find(kind);
      add(name(kind), found == line.baselines.end() ? json(nullptr) : positive(found->second));
    }
    add_side(columns, "raw", line.raw, configs);
    add_side(columns, "vendor", line.vendor, configs);
    add_side(columns, "served", line.served, configs);
    add("follower", configs.place(line.follower));
    add("raw_outcome", line.raw_wins ? "win" : line.raw_loses ? "loss" : line.raw ? "tie" : "none");
    add("served_by", name(line.served_kind));
    add("served_outcome", line.served_wins ? "win" : line.served_loses ? "loss" : "tie");
    add("retested", line.retested ? 1 : 0);
  }
  return columns;
}

json roofs_json(const Target& target) {
  const Rates peak = peak_rates(target);
  const Rates reached = reached_rates(target);
  return {{"peak_tflops", figure(peak.flop_per_s / 1e12)},
          {"reached_tflops", figure(reached.flop_per_s / 1e12)},
          {"peak_memory_tbs", figure(peak.memory_bytes_per_s / 1e12)},
          {"reached_memory_tbs", figure(reached.memory_bytes_per_s / 1e12)},
          {"reached_l2_tbs", figure(reached.l2_bytes_per_s / 1e12)}};
}

json range_json(const Range& range) {
  return {figure(range.low), figure(range.median), figure(range.high)};
}

json runs_json(const std::vector<RunConditions>& runs) {
  json list = json::array();
  for (const RunConditions& run : runs)
    list.push_back({{"id", run.id},
                    {"started", run.started},
                    {"command", run.command},
                    {"sm_clock_mhz", range_json(run.sm_clock_mhz)},
                    {"power_w", range_json(run.power_w)},
                    {"temperature_c", range_json(run.temperature_c)},
                    {"power_limit_w", figure(run.power_limit_w)},
                    {"samples", run.samples},
                    {"power_capped", run.power_capped},
                    {"heat_throttled", run.heat_throttled},
                    {"problems", run.problems},
                    {"empty_us", figure(run.empty_us)}});
  return list;
}

json losses_json(const Scoreboard& board, const Target& target) {
  json list = json::array();
  for (const Loss& loss : explain_losses(board, target))
    list.push_back({{"shape", loss.shape},
                    {"cause", loss.cause},
                    {"words", loss.words},
                    {"theirs", loss.theirs}});
  return list;
}

json front_json(std::span<const Measurement> rows) {
  json list = json::array();
  for (const FrontPoint& point : kernel_front(rows, kMostFrontKernels))
    list.push_back({point.kernels, figure(point.speed), point.added});
  return list;
}

json curves_json(const std::vector<LearningCurve>& curves) {
  json list = json::array();
  for (const LearningCurve& curve : curves) {
    json points = json::array();
    for (const CurvePoint& point : curve.points)
      points.push_back(
          {point.measurements, figure(point.found), figure(point.low), figure(point.high)});
    list.push_back({{"split", curve.split}, {"searcher", curve.searcher}, {"points", points}});
  }
  return list;
}

// What is known of one config on one shape. Paired ratios, unlike times, may be compared across
// the runs of a table.
struct Entry {
  double chained = 0;
  double foreign = 0;
  bool final = false;
};

// The later stage counts, and of equal stages the later row.
void keep(Entry& entry, const Measurement& row) {
  const bool is_final = row.stage == Stage::kFinal;
  if (entry.final && !is_final) return;
  if (is_final && !entry.final) entry = {0, 0, true};
  (row.setting == Setting::kChained ? entry.chained : entry.foreign) = row.ratio;
}

long in_units(double ratio) { return std::lround(std::min(ratio, 1e4) * kRatioUnits); }

// One flat list a shape: 2 x config (+ 1 when final), ratio back to back, ratio between foreign
// kernels (0: not measured), and so on.
std::string spaces_text(std::span<const Measurement> rows, const Scoreboard& board,
                        const ConfigList& configs) {
  std::map<std::string, std::map<int, Entry>> by_problem;
  for (const Measurement& row : rows) {
    if (row.config.empty() || row.status != Status::kOk || row.ratio <= 0) continue;
    keep(by_problem[describe(row.problem)][configs.place(row.config)], row);
  }
  std::string text = "[";
  for (const ShapeLine& line : board.shapes) {
    text += text.size() > 1 ? ",\n[" : "[";
    bool first = true;
    for (const auto& [config, entry] : by_problem[describe(line.problem)]) {
      fmt::format_to(std::back_inserter(text), "{}{},{},{}", first ? "" : ",",
                     2 * config + (entry.final ? 1 : 0), in_units(entry.chained),
                     in_units(entry.foreign));
      first = false;
    }
    text += ']';
  }
  return text + "]";
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

PageData make_page_data(std::span<const Measurement> rows, const Scoreboard& board,
                        const ReportContext& context) {
  const ConfigList configs(rows);
  const DeviceInfo& device = context.device;
  json buckets = json::array();
  for (const auto& [bucket, means] : board.buckets)
    if (means.shapes > 0) buckets.push_back(means_json(bucket, means));
  json overall = means_json("all", board.overall);
  overall["over_cublas"] = positive(board.overall.served_over_cublas);
  overall["over_cublas_autotune"] = positive(board.overall.served_over_autotune);
  overall["over_lt_first"] = positive(board.overall.served_over_lt_first);
  const json main = {
      {"source", context.source},
      {"command", context.command},
      {"device",
       {{"name", device.target.name},
        {"fingerprint", device.fingerprint()},
        {"sm_count", device.target.sm_count},
        {"empty_us", figure(smallest_empty_us(context.runs))}}},
      {"roofs", roofs_json(device.target)},
      {"rules",
       {{"least_gain", kLeastGain}, {"lost_below", kLostBelow}, {"ratio_units", kRatioUnits}}},
      {"rows", rows.size()},
      {"failed", board.failed},
      {"not_retested", board.not_retested},
      {"overall", overall},
      {"buckets", buckets},
      {"shapes", shape_columns(board, configs)},
      {"losses", losses_json(board, device.target)},
      {"front", front_json(rows)},
      {"curves", curves_json(context.curves)},
      {"runs", runs_json(context.runs)},
      {"configs", configs.texts()}};
  return {dump(main), spaces_text(rows, board, configs)};
}

}  // namespace gemmsmith::report
