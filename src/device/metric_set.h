// metric_set.h -- metrics to collect together, scheduled for a chip: in how many passes, and what
// their values are once counted. Needs CUPTI, but no GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gemmsmith {

class MetricSet {
 public:
  // `chip` is CUPTI's name: "GH100", "GA100". `availability`: the device's image of what it can
  // count; empty: everything that its chip can. Errors: load_cupti()'s; kUnsupported for a metric
  // or a chip that CUPTI does not know, by name.
  static Result<MetricSet> create(const std::string& chip, std::vector<std::string> metrics,
                                  std::span<const std::uint8_t> availability = {});
  MetricSet(MetricSet&&) noexcept;
  MetricSet& operator=(MetricSet&&) noexcept;
  ~MetricSet();

  const std::vector<std::string>& metrics() const;
  // CUPTI's schedule, for the range profiler.
  const std::vector<std::uint8_t>& image() const;
  // Launches of the same work that collecting takes.
  std::size_t passes() const;

  // The metrics' values in order, of one range of decoded counter data.
  Result<std::vector<double>> evaluate(std::span<const std::uint8_t> counter_data,
                                       std::size_t range) const;

 private:
  struct State;
  explicit MetricSet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
