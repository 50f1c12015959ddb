// baseline.h -- what a live timing of a shape is held against. A plan table promises what a graph
// of launches without a gap took; two events around one launch add time of their own, which for a
// kernel of a few microseconds is as much again. So the first timings are looked at, too.
//
// A promise may be too easy as well: it was measured with operands that come from memory, at the
// clocks that the power limit left a GPU that did nothing else. A process that is steadily better
// is held to its own level, and what bringing all its operands from memory takes on top: it may
// begin to use them cold at any time, which is not the plan's fault.
#pragma once

#include <optional>
#include <vector>

namespace gemmsmith::monitor {

class Baseline {
 public:
  static constexpr std::size_t kTimings = 20;
  // How far above the promise the first timings are believed: a run that is slow from its start is
  // not a healthy one.
  static constexpr double kMostFactor = 1.1;
  static constexpr double kMostEventsUs = 10;

  // `promised_us` 0: nothing was promised, and the first timings are all there is. `cold_us` is
  // what the operands and the result take to cross the memory's bus once.
  Baseline(double promised_us, double cold_us) : promised_us_(promised_us), cold_us_(cold_us) {}

  // One of the first timings of the plan. True where it was the last one that was needed.
  bool add(double latency_us);

  // Nothing until there were enough.
  const std::optional<double>& us() const { return us_; }
  double promised_us() const { return promised_us_; }
  double seen_us() const { return seen_us_; }  // the median of the first timings

 private:
  double promised_us_;
  double cold_us_;
  double seen_us_ = 0;
  std::vector<double> first_;
  std::optional<double> us_;
};

// Latency over promise, and 1 where the promise is kept as well as two events can tell: of a kernel
// of 11 us on a healthy H200, medians of one second wandered from 15.8 to 17.8 us.
constexpr double kEventsWanderUs = 2;
double latency_ratio(double latency_us, double promised_us);

}  // namespace gemmsmith::monitor
