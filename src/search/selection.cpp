#include "search/selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace gemmsmith {

namespace {

// Screening is off by a few percent at most: who looks this bad there does not win full pairs.
constexpr double kHopelessBelow = 0.95;

}  // namespace

double Finalist::ratio() const { return std::sqrt(chained.ratio * foreign.ratio); }

std::vector<std::string> choose_finalists(std::span<const Contender> contenders, int count,
                                          bool with_best_chained) {
  // First whether it promises to win, then by how much.
  const auto promise = [](const Contender& c) {
    const double weaker = std::min(c.chained, c.foreign);
    const bool wins_both = weaker >= kLeastGain;
    return std::make_pair(wins_both, wins_both ? std::sqrt(c.chained * c.foreign) : weaker);
  };
  std::vector<const Contender*> order;
  for (const Contender& contender : contenders) order.push_back(&contender);
  std::stable_sort(order.begin(), order.end(), [&](const Contender* a, const Contender* b) {
    return promise(*a) > promise(*b);
  });
  if (with_best_chained) {
    const auto best =
        std::max_element(contenders.begin(), contenders.end(),
                         [](const auto& a, const auto& b) { return a.chained < b.chained; });
    std::stable_partition(order.begin(), order.end(),
                          [&](const Contender* c) { return c == &*best; });
  }
  std::vector<std::string> chosen;
  for (const Contender* contender : order) {
    if (static_cast<int>(chosen.size()) >= count) break;
    const bool hopeless = std::min(contender->chained, contender->foreign) < kHopelessBelow;
    if (chosen.empty() || !hopeless) chosen.push_back(contender->config);
  }
  return chosen;
}

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

std::vector<Finalist> winners(std::span<const Measurement> rows) {
  std::vector<Finalist> found = finalists(rows);
  double behind_ours = 0;
  for (const Finalist& finalist : found)
    if (finalist.kind == Kind::kKernel && finalist.ok() && wins(finalist.chained))
      behind_ours = std::max(behind_ours, finalist.chained.ratio);
  std::erase_if(found, [](const Finalist& finalist) { return !wins(finalist); });
  const auto worth = [&](const Finalist& finalist) {
    const double chained = finalist.kind == Kind::kKernel ? behind_ours : finalist.chained.ratio;
    return std::sqrt(chained * finalist.foreign.ratio);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Finalist& a, const Finalist& b) { return worth(a) > worth(b); });
  return found;
}

std::optional<Finalist> select(std::span<const Measurement> rows) {
  std::vector<Finalist> found = winners(rows);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::optional<Finalist> select_follower(std::span<const Measurement> rows, const Finalist& plan,
                                        std::span<const Measurement> tested) {
  if (plan.kind != Kind::kKernel) return std::nullopt;
  std::optional<Finalist> follower = best_in(rows, Kind::kKernel, Setting::kChained);
  if (!follower || follower->config == plan.config) return std::nullopt;
  double plans_ratio = plan.chained.ratio;
  bool is_tested = tested.empty();
  for (const Finalist& finalist : finalists(tested)) {
    if (finalist.kind != Kind::kKernel) continue;
    if (finalist.config == plan.config) plans_ratio = finalist.chained.ratio;
    if (finalist.config != follower->config) continue;
    follower = finalist;
    is_tested = true;
  }
  const bool serves = is_tested && follower->ok() && wins(follower->chained) &&
                      follower->chained.ratio >= kLeastGain * plans_ratio;
  return serves ? follower : std::nullopt;
}

std::optional<Finalist> best_in(std::span<const Measurement> rows, Kind kind, Setting setting) {
  std::optional<Finalist> best;
  for (Finalist& finalist : finalists(rows))
    if (finalist.kind == kind && finalist.ok() &&
        (!best || finalist.ratio_in(setting) > best->ratio_in(setting)))
      best = std::move(finalist);
  return best;
}

std::optional<Finalist> best_of(std::span<const Measurement> rows, Kind kind) {
  for (Finalist& finalist : finalists(rows))
    if (finalist.kind == kind && finalist.ok()) return std::move(finalist);
  return std::nullopt;
}

}  // namespace gemmsmith
