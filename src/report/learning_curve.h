// learning_curve.h -- how close each search strategy comes to the recorded best after so many
// measurements: the tables that bench/search/compare.py writes (bench/search/results/*.csv).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gemmsmith::report {

struct CurvePoint {
  int measurements = 0;
  double found = 0;  // share of the recorded best, a geometric mean over held-out problems
  double low = 0;    // 95 % interval
  double high = 0;
};

struct LearningCurve {
  std::string split;               // which problems were held out: "random:0/5"
  std::string searcher;            // "policy", "random", ...
  std::vector<CurvePoint> points;  // by number of measurements
};

// One curve for each split and searcher, in the file's order. Errors (kBadInput) read
// "FILE:LINE: column: what was expected".
Result<std::vector<LearningCurve>> parse_learning_curves(std::string_view text,
                                                         const std::string& file_name);
Result<std::vector<LearningCurve>> read_learning_curves(const std::filesystem::path& path);

}  // namespace gemmsmith::report
