#include "cli/l2_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/numbers.h"
#include "base/statistics.h"
#include "cli/l2_table.h"
#include "policy/analytic_ranker.h"
#include "policy/tile_orders.h"

namespace gemmsmith::cli {
namespace {

constexpr double kSectorBytes = 32;

double or_nan(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

double counted_dram(const L2Pair& pair) { return or_nan(dram_bytes(pair.counted)); }

}  // namespace

std::vector<Config> l2_candidates(const SpaceContext& context, int kernels) {
  std::vector<Config> chosen;
  for (const Config& best : policy::ranked_configs(context.problem, context.target, kernels, 1)) {
    std::vector<std::pair<double, Config>> orders;
    std::vector<Config> all = policy::other_orders(best, context);
    all.push_back(best);
    for (Config& order : all) {
      const auto traffic = policy::predict_l2(context.problem, order, context.target);
      if (traffic) orders.emplace_back(traffic->memory(), std::move(order));
    }
    std::stable_sort(orders.begin(), orders.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (orders.empty()) continue;
    for (const std::size_t at : {std::size_t{0}, orders.size() / 2, orders.size() - 1})
      if (std::find(chosen.begin(), chosen.end(), orders[at].second) == chosen.end())
        chosen.push_back(orders[at].second);
  }
  return chosen;
}

Table l2_pairs_table(const std::vector<L2Pair>& pairs) {
  Table table({"shape", "config", "predicted_hit_pct", "served_pct", "lookup_hit_pct",
               "predicted_requested_mib", "requested_mib", "predicted_read_mib", "read_mib",
               "predicted_written_mib", "written_mib", "least_mib", "fabric_mib", "fabric_hit_pct",
               "alone_us"});
  for (const L2Pair& pair : pairs) {
    const CounterValues& v = pair.counted;
    const auto scaled = [&](Counter counter, double scale) {
      return Cell(or_nan(v[counter]) * scale, 2);
    };
    const auto& fabric = v[Counter::kL2FabricSectors];
    const auto& found = v[Counter::kL2FabricHits];
    table.add(
        {shape_name(pair.problem), to_text(pair.config), Cell(100 * pair.predicted.hit_rate(), 1),
         Cell(or_nan(l2_served_percent(v)), 1), Cell(or_nan(l2_sm_read_hit_percent(v)), 1),
         Cell(pair.predicted.requested / kMib, 2),
         scaled(Counter::kL2SmReadSectors, kSectorBytes / kMib),
         Cell(pair.predicted.memory_read / kMib, 2), scaled(Counter::kDramReadBytes, 1 / kMib),
         Cell(pair.predicted.memory_written / kMib, 2), scaled(Counter::kDramWriteBytes, 1 / kMib),
         Cell(pair.predicted.compulsory / kMib, 2),
         scaled(Counter::kL2FabricSectors, kSectorBytes / kMib),
         Cell(fabric && found && *fabric > 0 ? 100 * *found / *fabric : or_nan({}), 1),
         scaled(Counter::kTimeNs, 1e-3)});
  }
  return table;
}

std::string l2_errors_text(const std::vector<L2Pair>& pairs) {
  std::vector<double> errors, off, predicted, counted;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> by_shape;
  for (const L2Pair& pair : pairs) {
    const auto served = l2_served_percent(pair.counted);
    const double bytes = counted_dram(pair);
    if (!served || !std::isfinite(bytes)) continue;
    errors.push_back(std::abs(100 * pair.predicted.hit_rate() - *served));
    off.push_back(100 * (pair.predicted.memory() / bytes - 1));
    predicted.push_back(pair.predicted.memory());
    counted.push_back(bytes);
    auto& [ours, theirs] = by_shape[shape_name(pair.problem)];
    ours.push_back(pair.predicted.memory());
    theirs.push_back(bytes);
  }
  if (errors.empty()) return "0 pairs: nothing to compare";
  double total = 0;
  for (const double error : errors) total += error;
  std::vector<double> within;
  for (const auto& [shape, lists] : by_shape)
    if (const double rank = rank_correlation(lists.first, lists.second); std::isfinite(rank))
      within.push_back(rank);
  return fmt::format(
      "{} pairs: hit rate off by {:.1f} points on the average, {:.1f} at most; DRAM bytes off by "
      "{:+.1f} % in the median ({:+.1f} to {:+.1f}); rank correlation of DRAM bytes {:.3f} over "
      "all "
      "pairs, {:.3f} within a shape (median of {} shapes)",
      errors.size(), total / static_cast<double>(errors.size()), quantile(errors, 1), median(off),
      quantile(off, 0), quantile(off, 1), rank_correlation(predicted, counted), median(within),
      within.size());
}

}  // namespace gemmsmith::cli
