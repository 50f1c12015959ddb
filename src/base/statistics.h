// statistics.h -- the few estimators that measuring and reporting share.
#pragma once

#include <span>

namespace gemmsmith {

// The p-quantile (0..1) with linear interpolation between order statistics; NaN when empty.
double quantile(std::span<const double> values, double p);
double median(std::span<const double> values);
double geometric_mean(std::span<const double> values);  // of positive values; NaN when empty

// Spearman's: the correlation of the ranks, equal values sharing the mean of theirs. NaN where
// there are fewer than three pairs or one side is constant.
double rank_correlation(std::span<const double> a, std::span<const double> b);

struct Interval {
  double low = 0;
  double mid = 0;
  double high = 0;
};

// The median with its distribution-free confidence interval from order statistics (binomial ranks,
// normal approximation of the ranks above 30 values). `confidence` is 0.95 for a 95 % interval.
Interval median_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace gemmsmith
