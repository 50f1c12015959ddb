// floors.h -- how fast a problem can possibly run. The impossible floor rejects measurements: what
// beats it did not do the work. The expected floor, from rates that were measured on one H200, is
// for plots and features.
#pragma once

#include "device/measurement.h"
#include "problem/problem.h"
#include "problem/target.h"

namespace gemmsmith {

// The roofs of a target: theoretical peaks, and what one H200 reached of its own on random data.
struct Rates {
  double flop_per_s = 0;  // dense 16-bit tensor
  double memory_bytes_per_s = 0;
  double l2_bytes_per_s = 0;  // 0 among the peaks: no theoretical figure is published
};
Rates peak_rates(const Target& target);
Rates reached_rates(const Target& target);

// The largest of: FLOP at every SM's tensor peak and the highest SM clock; the bytes that cannot be
// in L2, at the memory's theoretical peak; and the period of an empty kernel in the same run
// (`empty_us`, 0 where launches may overlap with other work). Never above what hardware can do.
double impossible_floor_us(const Problem& problem, const Target& target, CacheState cache,
                           double empty_us);

// The largest of the launch period, FLOP at the power-limited tensor rate and bytes at the measured
// rate of the memory level they come from.
double expected_floor_us(const Problem& problem, const Target& target, CacheState cache);

}  // namespace gemmsmith
