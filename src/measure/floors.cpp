#include "measure/floors.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

// Dense 16-bit FLOP an SM does in a clock: NVIDIA's A100 and H100 architecture papers.
double flop_per_clock_per_sm(const Target& target) {
  return target.compute_capability >= 90 ? 4096 : 2048;
}

// Shares of the theoretical peaks that one H200 reached on random data: 800 of 1070 TFLOP/s (the
// power limit), 4.66 of 4.8 TB/s of memory, and L2 reads at 7.3 TB/s = 27.9 bytes a clock an SM.
constexpr double kReachedFlopShare = 0.75;
constexpr double kReachedMemoryShare = 0.97;
constexpr double kL2BytesPerClockPerSm = 27.9;
// Period of dependent launches inside a graph with programmatic dependent launch, there.
constexpr double kLaunchPeriodUs = 0.60;

// Bytes of one launch that must cross the memory bus. Cold: the operands of successive launches
// rotate through more than twice the L2 (or through one set that is larger still), so whatever the
// replacement policy, at most L2 of that total is found there in each round.
double missing_bytes(const Problem& problem, const Target& target, CacheState cache) {
  const double bytes = problem.min_bytes();
  const auto l2 = static_cast<double>(target.l2_bytes);
  if (cache == CacheState::kHot) return std::max(0.0, bytes - l2);
  const double rotated = std::max(2 * l2, bytes);
  return bytes * (1 - l2 / rotated);
}

}  // namespace

Rates peak_rates(const Target& target) {
  return {target.sm_count * flop_per_clock_per_sm(target) * target.sm_clock_mhz * 1e6,
          target.memory_bytes_per_s, 0};
}

Rates reached_rates(const Target& target) {
  const Rates peak = peak_rates(target);
  return {kReachedFlopShare * peak.flop_per_s, kReachedMemoryShare * peak.memory_bytes_per_s,
          kL2BytesPerClockPerSm * target.sm_count * target.sm_clock_mhz * 1e6};
}

double impossible_floor_us(const Problem& problem, const Target& target, CacheState cache,
                           double empty_us) {
  const double compute_s = problem.flop() / peak_rates(target).flop_per_s;
  const double memory_s = missing_bytes(problem, target, cache) / target.memory_bytes_per_s;
  return std::max(empty_us, std::max(compute_s, memory_s) * kMicrosecondsPerSecond);
}

double expected_floor_us(const Problem& problem, const Target& target, CacheState cache) {
  const Rates rates = reached_rates(target);
  const double compute_s = problem.flop() / rates.flop_per_s;
  const double bytes_per_s =
      cache == CacheState::kHot ? rates.l2_bytes_per_s : rates.memory_bytes_per_s;
  const double memory_s = problem.min_bytes() / bytes_per_s;
  return std::max(kLaunchPeriodUs, std::max(compute_s, memory_s) * kMicrosecondsPerSecond);
}

}  // namespace gemmsmith
