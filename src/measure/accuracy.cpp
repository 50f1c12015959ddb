#include "measure/accuracy.h"

#include <cmath>

namespace gemmsmith {

double relative_norm(double difference_squares, double reference_squares) {
  if (difference_squares == 0) return 0;
  return std::sqrt(difference_squares / reference_squares);
}

bool norm_is_barred(const Problem& problem) {
  return problem.type == DataType::kF16 && problem.accumulator == DataType::kF32;
}

bool passes_norm(const Problem& problem, const AccuracyReport& report) {
  if (!norm_is_barred(problem)) return !std::isnan(report.relative_error);
  return report.relative_error < kMaxRelativeError;
}

bool passes_bound(const AccuracyReport& report) { return report.bound_ratio <= 1; }

bool is_accurate(const Problem& problem, const AccuracyReport& report) {
  return report.status == Status::kOk && passes_norm(problem, report) && passes_bound(report);
}

}  // namespace gemmsmith
