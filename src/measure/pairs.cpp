#include "measure/pairs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/statistics.h"

namespace gemmsmith {
namespace {

void summarise_logs(std::vector<double> times, std::span<const double> log_ratios,
                    Measurement& measurement) {
  const Interval time = median_interval(times);
  const Interval log_ratio = median_interval(log_ratios);
  measurement.median_us = time.mid;
  measurement.low_us = time.low;
  measurement.high_us = time.high;
  measurement.ratio = std::exp(log_ratio.mid);
  measurement.ratio_low = std::exp(log_ratio.low);
  measurement.ratio_high = std::exp(log_ratio.high);
  measurement.repeats_us = std::move(times);
}

}  // namespace

void summarise(std::span<const Quadruple> quadruples, Measurement& measurement) {
  std::vector<double> times;
  std::vector<double> log_ratios;
  for (const Quadruple& q : quadruples) {
    const double candidate = q.candidate_first + q.candidate_second;
    const double baseline = q.baseline_first + q.baseline_second;
    times.push_back(candidate / 2);
    log_ratios.push_back(std::log(baseline / candidate));
  }
  summarise_logs(std::move(times), log_ratios, measurement);
}

void summarise(std::span<const Repeat> repeats, Measurement& measurement) {
  std::vector<double> times;
  std::vector<double> log_ratios;
  for (const Repeat& r : repeats) {
    times.push_back(r.candidate);
    log_ratios.push_back(std::log(r.baseline / r.candidate));
  }
  summarise_logs(std::move(times), log_ratios, measurement);
}

int launches_per_replay(double launch_us, double replay_us, int sets_to_cover) {
  const double wanted = std::round(replay_us / std::max(launch_us, 0.1));
  int launches = static_cast<int>(std::clamp(wanted, 1.0, double{kMaxGraphLaunches}));
  const bool cover_is_cheap = sets_to_cover * launch_us <= 2 * replay_us;
  if (launches < sets_to_cover && sets_to_cover <= kMaxGraphLaunches && cover_is_cheap)
    launches = sets_to_cover;
  return launches;
}

int quadruples_within(int wanted, double replay_us, double limit_us) {
  const double affordable = std::floor(limit_us / (4 * std::max(replay_us, 1.0)));
  const int most = std::max(kMinQuadruples, static_cast<int>(std::min(affordable, 1e6)));
  return std::min(std::max(wanted, kMinQuadruples), most);
}

}  // namespace gemmsmith
