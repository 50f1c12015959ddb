#include "monitor/baseline.h"

#include <algorithm>

namespace gemmsmith::monitor {

bool Baseline::add(double latency_us) {
  if (us_) return false;
  first_.push_back(latency_us);
  if (first_.size() < kTimings) return false;
  std::nth_element(first_.begin(), first_.begin() + kTimings / 2, first_.end());
  seen_us_ = first_[kTimings / 2];
  us_ = promised_us_ > 0 ? std::clamp(seen_us_, std::min(promised_us_, seen_us_ + cold_us_),
                                      promised_us_ * kMostFactor + kMostEventsUs)
                         : seen_us_;
  return true;
}

double latency_ratio(double latency_us, double promised_us) {
  return std::max(std::min(latency_us, promised_us), latency_us - kEventsWanderUs) / promised_us;
}

}  // namespace gemmsmith::monitor
