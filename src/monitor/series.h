// series.h -- what a monitor saw, as a file: one line a look at one problem. A recorded series is
// judged again without a GPU.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monitor/engine.h"

namespace gemmsmith::monitor {

struct Series {
  std::vector<Sample> samples;  // in time order
  // The plan of each problem, from its first line: the config's text; empty for cuBLASLt's
  // heuristic.
  std::vector<std::pair<Problem, std::string>> plans;
  // What the process had at hand besides a problem's plan, from the same line. Without the column
  // `next` there is no such list, and anything can be served.
  std::vector<std::vector<std::string>> alternates;
  bool has_alternates = false;
  std::vector<bool> present;  // by metrics(): has a column
};

// CSV with a header. Columns: t_s, shape (M_N_K), config; each metric by its name, empty where it
// was not seen; latency_us and promised_us, which make latency_ratio; throttle ("none",
// "sw_power_cap", as NVML's reasons are written); of_left (0 or 1, as in Sample); next (configs
// with blanks between them, as in Series). `base` has the types and layout of the shapes. Errors
// (kBadInput) name file, line and column.
Result<Series> parse_series(std::string_view text, const std::string& source, const Problem& base);
Result<Series> read_series(const std::filesystem::path& path, const Problem& base);

}  // namespace gemmsmith::monitor
