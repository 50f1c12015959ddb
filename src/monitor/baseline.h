// baseline.h -- what a live timing of a shape is held against. A plan table promises what a graph
// of launches without a gap took; two events around one launch add time of their own, which for a
// kernel of a few microseconds is as much again. So the first timings are looked at, too.
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

  // 0: nothing was promised, and the first timings are all there is.
  explicit Baseline(double promised_us) : promised_us_(promised_us) {}

  // One of the first timings of the plan. True where it was the last one that was needed.
  bool add(double latency_us);

  // Nothing until there were enough.
  const std::optional<double>& us() const { return us_; }
  double promised_us() const { return promised_us_; }
  double seen_us() const { return seen_us_; }  // the median of the first timings

 private:
  double promised_us_;
  double seen_us_ = 0;
  std::vector<double> first_;
  std::optional<double> us_;
};

}  // namespace gemmsmith::monitor
