#include "monitor/series_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gemmsmith::monitor {

SeriesWriter::SeriesWriter(const Policy& policy) {
  for (std::size_t i = 1; i < metrics().size(); ++i) {
    bool is_used = false;
    for (const Rule& rule : policy.rules) is_used = is_used || rule.metric == i;
    if (is_used) metrics_.push_back(i);
  }
}

std::string SeriesWriter::header() const {
  std::string text = "t_s,shape,config,next,latency_us,promised_us,of_left,throttle";
  for (const std::size_t metric : metrics_) text += fmt::format(",{}", metrics()[metric].name);
  return text + "\n";
}

std::string SeriesWriter::line(const LiveShape& shape, const LiveLook& look,
                               const GpuSample& gpu) const {
  // A shape's first line tells its plan: it is served by it then, for nothing is decided before.
  std::string text =
      fmt::format("{:.4f},{},{},{},{:.3f},{:.3f},{},{}", look.sample.t_s,
                  shape_name(shape.problem()), look.config, fmt::join(shape.alternates(), " "),
                  look.latency_us, look.promised_us, look.sample.of_left ? 1 : 0,
                  gpu.throttle_reasons ? throttle_text(*gpu.throttle_reasons) : "");
  for (const std::size_t metric : metrics_) {
    const std::optional<double>& value = look.sample.values[metric];
    text += value ? fmt::format(",{:.2f}", *value) : std::string(",");
  }
  return text + "\n";
}

}  // namespace gemmsmith::monitor
