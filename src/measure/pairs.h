// pairs.h -- from raw replay times to a measurement: ABBA quadruples to paired log ratios, and the
// number of launches a replay holds. Pure arithmetic, the same for every device.
#pragma once

#include <span>

#include "device/measurement.h"

namespace gemmsmith {

// Times a launch, in us, of candidate, baseline, baseline, candidate run in that order: a drift
// that is linear over the four falls out of the ratio.
struct Quadruple {
  double candidate_first = 0;
  double baseline_first = 0;
  double baseline_second = 0;
  double candidate_second = 0;
};

// Fills median_us and its interval, ratio and its interval, and repeats_us (one a quadruple).
void summarise(std::span<const Quadruple> quadruples, Measurement& measurement);

// The same from screening's repeats: a candidate's time and the mean of the baseline's replays
// around it.
struct Repeat {
  double candidate = 0;
  double baseline = 0;
};
void summarise(std::span<const Repeat> repeats, Measurement& measurement);

constexpr int kMaxGraphLaunches = 1024;

// Launches of a replay that should take about `replay_us` when one takes `launch_us`: more, up to
// twice the time, where that lets the operand sets cover L2 (`sets_to_cover`, 0 where they cannot).
int launches_per_replay(double launch_us, double replay_us, int sets_to_cover);

// Quadruples of a final: `wanted`, fewer when they would take more than `limit_us` of GPU time, at
// least kMinQuadruples (their whole range is a 99 % interval of the median).
constexpr int kMinQuadruples = 8;
int quadruples_within(int wanted, double replay_us, double limit_us);

}  // namespace gemmsmith
