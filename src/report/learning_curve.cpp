// A table of "split,searcher,measure,value,low,high"; of its measures, "found@N" makes the curves.
#include "report/learning_curve.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/numbers.h"

namespace gemmsmith::report {
namespace {

constexpr std::string_view kHeader = "split,searcher,measure,value,low,high";
constexpr std::string_view kFound = "found@";
constexpr std::size_t kFields = 6;
constexpr std::int64_t kMostMeasurements = 1'000'000;

Result<std::array<std::string_view, kFields>> split_fields(std::string_view line,
                                                           const std::string& place) {
  std::array<std::string_view, kFields> fields;
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == kFields))
      return fail(ErrorCode::kBadInput, "{}: expected the {} fields {}", place, kFields, kHeader);
    fields[i] = line.substr(0, comma);
    line.remove_prefix(std::min(line.size(), fields[i].size() + 1));
  }
  return fields;
}

Result<double> share(std::string_view text, const std::string& place, const char* column) {
  auto value = parse_double(text);
  if (!value) return fail(ErrorCode::kBadInput, "{}: {}: {}", place, column, value.error().what);
  return value;
}

LearningCurve& curve_of(std::vector<LearningCurve>& curves, std::string_view split,
                        std::string_view searcher) {
  const auto found = std::find_if(curves.begin(), curves.end(), [&](const LearningCurve& curve) {
    return curve.split == split && curve.searcher == searcher;
  });
  if (found != curves.end()) return *found;
  return curves.emplace_back(LearningCurve{std::string(split), std::string(searcher), {}});
}

}  // namespace

Result<std::vector<LearningCurve>> parse_learning_curves(std::string_view text,
                                                         const std::string& file_name) {
  std::vector<LearningCurve> curves;
  for (int line_number = 1; !text.empty(); ++line_number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string place = fmt::format("{}:{}", file_name, line_number);
    if (line_number == 1) {
      if (line == kHeader) continue;
      return fail(ErrorCode::kBadInput, "{}: header: expected '{}'", place, kHeader);
    }
    if (line.empty()) continue;
    GEMMSMITH_TRY(const auto fields, split_fields(line, place));
    const std::string_view measure = fields[2];
    if (measure.substr(0, kFound.size()) != kFound) continue;
    const auto measurements = parse_int64(measure.substr(kFound.size()));
    if (!measurements || *measurements < 1 || *measurements > kMostMeasurements)
      return fail(ErrorCode::kBadInput,
                  "{}: measure: '{}' does not end in a number of measurements from 1 to {}", place,
                  measure, kMostMeasurements);
    CurvePoint point;
    point.measurements = static_cast<int>(*measurements);
    GEMMSMITH_TRY(point.found, share(fields[3], place, "value"));
    GEMMSMITH_TRY(point.low, share(fields[4], place, "low"));
    GEMMSMITH_TRY(point.high, share(fields[5], place, "high"));
    curve_of(curves, fields[0], fields[1]).points.push_back(point);
  }
  if (curves.empty())
    return fail(ErrorCode::kBadInput, "{}: holds no learning curve: expected rows with measure {}N",
                file_name, kFound);
  for (LearningCurve& curve : curves)
    std::stable_sort(
        curve.points.begin(), curve.points.end(),
        [](const CurvePoint& a, const CurvePoint& b) { return a.measurements < b.measurements; });
  return curves;
}

Result<std::vector<LearningCurve>> read_learning_curves(const std::filesystem::path& path) {
  GEMMSMITH_TRY(const std::string text, read_file(path));
  return parse_learning_curves(text, path.string());
}

}  // namespace gemmsmith::report
