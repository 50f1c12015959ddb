// accuracy.h -- how far a config's result is from two references, as figures with their bars: the
// norm against cuBLAS and the largest error against FP64 in units of what a correct kernel may
// have.
#pragma once

#include <string>

#include "device/measurement.h"
#include "problem/problem.h"

namespace gemmsmith {

// ||D - D_cublas|| / ||D_cublas||, Frobenius norm.
constexpr double kMaxRelativeError = 1e-3;

struct AccuracyReport {
  std::string config;
  Status status = Status::kOk;  // of every check of the verifier, the two below among them
  std::string detail;           // why a status is not ok
  double relative_error = 0;    // against cuBLAS; NaN where the launch never got that far
  double bound_ratio = 0;       // largest error against FP64 over its bound; NaN likewise
};

// sqrt(difference / reference) of sums of squares: 0 where nothing differs, whatever the reference.
double relative_norm(double difference_squares, double reference_squares);

// The norm's bar is for f16 results of f32 sums. An f16 accumulator is further off by its nature,
// and bf16's rounding alone exceeds the bar: there the figure is reported and not judged.
bool norm_is_barred(const Problem& problem);

// NaN never passes.
bool passes_norm(const Problem& problem, const AccuracyReport& report);
bool passes_bound(const AccuracyReport& report);

// Both bars hold, and every other check did.
bool is_accurate(const Problem& problem, const AccuracyReport& report);

}  // namespace gemmsmith
