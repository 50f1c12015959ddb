#include "train/replay.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace gemmsmith::train {

std::vector<std::size_t> greedy_search(const policy::Network& network, const Shape& shape,
                                       int budget, std::uint64_t noise) {
  const policy::Scores scores = policy::score_rows(network, shape.features);
  policy::History history(network, scores);
  std::vector<std::size_t> choices;
  const int steps = std::min(budget, static_cast<int>(shape.size()));
  for (int left = budget; static_cast<int>(choices.size()) < steps; --left) {
    const std::vector<float> wanted = policy::preferences(network, scores, history, left);
    const auto choice =
        static_cast<std::size_t>(std::max_element(wanted.begin(), wanted.end()) - wanted.begin());
    choices.push_back(choice);
    const MeasuredConfig& measured = shape.configs[choice];
    history.tell(choice, noise == 0 ? measured.value : drawn_value(measured, noise));
  }
  return choices;
}

double fraction_of_best(const Shape& shape, std::span<const std::size_t> choices,
                        std::size_t count) {
  if (choices.empty()) return 0;
  float best = shape.configs[choices[0]].value;
  for (const std::size_t choice : choices.first(std::min(count, choices.size())))
    best = std::max(best, shape.configs[choice].value);
  return std::exp(static_cast<double>(best - shape.best));
}

std::vector<Quality> quality(const policy::Network& network, std::span<const Shape* const> shapes,
                             std::span<const int> budgets) {
  std::vector<std::vector<double>> fractions(budgets.size());
  const int most = budgets.empty() ? 0 : *std::max_element(budgets.begin(), budgets.end());
  for (const Shape* const shape : shapes) {
    const std::vector<std::size_t> choices = greedy_search(network, *shape, most, 0);
    for (std::size_t i = 0; i < budgets.size(); ++i)
      fractions[i].push_back(
          fraction_of_best(*shape, choices, static_cast<std::size_t>(budgets[i])));
  }
  std::vector<Quality> result;
  for (std::size_t i = 0; i < budgets.size(); ++i)
    result.push_back({budgets[i], geometric_mean(fractions[i]), quantile(fractions[i], 0.05)});
  return result;
}

}  // namespace gemmsmith::train
