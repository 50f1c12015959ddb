// series_writer.h -- a live run as a series: what parse_series() reads, so that the run can be
// judged again, by another policy too.
#pragma once

#include <string>

#include "monitor/live_shape.h"

namespace gemmsmith::monitor {

// Has a column for each metric that the policy looks at, also where nothing measures it live.
class SeriesWriter {
 public:
  explicit SeriesWriter(const Policy& policy);
  std::string header() const;
  std::string line(const LiveShape& shape, const LiveLook& look, const GpuSample& gpu) const;

 private:
  std::vector<std::size_t> metrics_;  // besides the ratio, which the two latencies make
};

}  // namespace gemmsmith::monitor
