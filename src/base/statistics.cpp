#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gemmsmith {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Largest r such that P(Binomial(n, 1/2) < r) <= tail: the order statistics r-1 and n-r then
// enclose the median with probability 1 - 2 * tail.
std::size_t lower_rank(std::size_t n, double tail) {
  double term = std::pow(0.5, static_cast<double>(n));  // P(X = 0)
  double below = 0;
  std::size_t rank = 0;
  while (rank < n / 2 && below + term <= tail) {
    below += term;
    term *= static_cast<double>(n - rank) / static_cast<double>(rank + 1);
    ++rank;
  }
  return rank;
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      ranks[order[i]] = (static_cast<double>(first) + static_cast<double>(last - 1)) / 2;
    first = last;
  }
  return ranks;
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  return quantile_of_sorted(sorted_copy(values), p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval median_interval(std::span<const double> values, double confidence) {
  const std::vector<double> sorted = sorted_copy(values);
  const double mid = quantile_of_sorted(sorted, 0.5);
  if (sorted.empty()) return {mid, mid, mid};
  const std::size_t n = sorted.size();
  std::size_t rank = 0;
  if (n <= 500) {
    rank = lower_rank(n, (1 - confidence) / 2);
  } else {
    // 1.96 generalised: the normal quantile by Acklam's central region is not needed; the
    // inverse error function of the standard library is absent, so bisect erfc.
    double low = 0;
    double high = 10;
    for (int i = 0; i < 60; ++i) {
      const double z = (low + high) / 2;
      (std::erfc(z / std::sqrt(2.0)) > 1 - confidence ? low : high) = z;
    }
    const auto count = static_cast<double>(n);
    rank = static_cast<std::size_t>(std::max(0.0, count / 2 - low * std::sqrt(count) / 2));
  }
  // Too few values to reach the confidence: the whole range is the honest answer.
  const std::size_t first = rank == 0 ? 0 : rank - 1;
  return {sorted[first], mid, sorted[n - 1 - first]};
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (a.size() != b.size() || a.size() < 3) return kNan;
  const std::vector<double> x = ranks_of(a);
  const std::vector<double> y = ranks_of(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNan;
}

}  // namespace gemmsmith
