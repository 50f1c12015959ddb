// replay.h -- searches of recorded problems with a policy: no measuring, only looking up. Shared by
// training, which draws its choices, and by evaluation, which takes the best.
#pragma once

#include <span>
#include <vector>

#include "policy/history.h"
#include "train/dataset.h"

namespace gemmsmith::train {

// Indices of `shape.configs` in the order in which the policy would measure them; at most `budget`.
// `noise` 0: results are the recorded medians; else a seed for drawing them from the repeats.
std::vector<std::size_t> greedy_search(const policy::Network& network, const Shape& shape,
                                       int budget, std::uint64_t noise);

// Time of the recorded best over that of the best among the first `count` choices: 0..1.
double fraction_of_best(const Shape& shape, std::span<const std::size_t> choices,
                        std::size_t count);

// Geometric mean and 5th percentile over problems of the fraction after each of `budgets`.
struct Quality {
  int budget = 0;
  double mean = 0;
  double low = 0;
};
std::vector<Quality> quality(const policy::Network& network, std::span<const Shape* const> shapes,
                             std::span<const int> budgets);

}  // namespace gemmsmith::train
