// live_shape.h -- one shape of a watched process: its baseline, the engine that judges it, and the
// order that carries out what was decided.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/nvml.h"
#include "monitor/baseline.h"
#include "monitor/engine.h"
#include "watch/watching.h"

namespace gemmsmith::monitor {

// The last timings of what serves now. Their median is what is judged: a single launch that
// something else delayed, as happens to short kernels again and again, says nothing.
class RecentTimings {
 public:
  static constexpr std::size_t kTimings = 5;

  // Forgets those of what served before.
  double median_with(std::uint32_t serving, double latency_us);

 private:
  std::uint32_t serving_ = 0;
  std::vector<double> last_;  // the oldest first
};

// What was seen in one timing, as it was judged.
struct LiveLook {
  Sample sample;
  std::string config;      // what served the call; empty for cuBLASLt's heuristic
  double latency_us = 0;   // the median of the last timings
  double promised_us = 0;  // what it is held against
};

class LiveShape {
 public:
  // Errors: a plan whose text no family knows.
  static Result<LiveShape> make(const watch::SeenShape& seen, const Policy& policy,
                                const Target& target, std::span<const Family* const> families);

  const Problem& problem() const { return problem_; }
  std::size_t place() const { return place_; }
  const std::string& device() const { return device_; }
  const std::string& plan() const { return texts_[watch::kPlan]; }
  std::vector<std::string> alternates() const;
  const Baseline& baseline() const { return baseline_; }

  // Nothing while the baseline is being learnt, and for a call that an order given meanwhile no
  // longer has anything to do with.
  std::optional<LiveLook> look(const watch::Timing& timing, const GpuSample& gpu, double t_s);
  // Where a decision comes of it, order() has changed.
  std::optional<Decision> judge(const LiveLook& look, const watch::Timing& timing);
  const watch::Order& order() const { return order_; }

 private:
  LiveShape(const watch::SeenShape& seen, const Target& target);
  std::uint32_t number_of(const Serving& serving) const;
  double held_against(std::uint32_t serving) const;

  std::size_t place_;
  std::string device_;
  Problem problem_;
  Target target_;
  std::vector<std::string> texts_;  // by serving: the plan, "" for the library, the alternates
  double promised_library_us_;
  Baseline baseline_;
  RecentTimings served_, probed_;
  std::optional<Engine> engine_;
  watch::Order order_;
  std::uint64_t order_changed_ns_ = 0;
};

// The packed problem of a key.
Problem problem_of(const watch::ShapeKey& key);

}  // namespace gemmsmith::monitor
