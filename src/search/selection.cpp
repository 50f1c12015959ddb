#include "search/selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace gemmsmith {

double Finalist::ratio() const { return std::sqrt(chained.ratio * foreign.ratio); }

std::vector<Finalist> finalists(std::span<const Measurement> rows) {
  std::map<std::tuple<Kind, std::string>, std::pair<const Measurement*, const Measurement*>> pairs;
  for (const Measurement& row : rows) {
    if (row.stage != Stage::kFinal) continue;
    if (row.kind != Kind::kKernel && row.kind != Kind::kVendor) continue;
    auto& [chained, foreign] = pairs[{row.kind, row.config}];
    (row.setting == Setting::kChained ? chained : foreign) = &row;
  }
  std::vector<Finalist> found;
  for (const auto& [key, both] : pairs)
    if (both.first != nullptr && both.second != nullptr)
      found.push_back({std::get<0>(key), std::get<1>(key), *both.first, *both.second});
  // The map's order (kernel before vendor, then by text) decides among equal ratios.
  std::stable_sort(found.begin(), found.end(), [](const Finalist& a, const Finalist& b) {
    if (a.ok() != b.ok()) return a.ok();
    return a.ok() && a.ratio() > b.ratio();
  });
  return found;
}

bool wins(const Measurement& row) {
  return row.status == Status::kOk && row.ratio_low > 1 && row.ratio >= kLeastGain;
}

bool wins(const Finalist& finalist) { return wins(finalist.chained) && wins(finalist.foreign); }

bool lost(const Finalist& finalist) {
  return !finalist.ok() || finalist.chained.ratio_high < kLostBelow ||
         finalist.foreign.ratio_high < kLostBelow;
}

std::optional<Finalist> select(std::span<const Measurement> rows) {
  for (Finalist& finalist : finalists(rows))
    if (wins(finalist)) return std::move(finalist);
  return std::nullopt;
}

std::optional<Finalist> best_of(std::span<const Measurement> rows, Kind kind) {
  for (Finalist& finalist : finalists(rows))
    if (finalist.kind == kind && finalist.ok()) return std::move(finalist);
  return std::nullopt;
}

}  // namespace gemmsmith
