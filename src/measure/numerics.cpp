#include "measure/numerics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gemmsmith {
namespace {

// A binary floating-point format: digits of the significand, the exponent of its smallest normal
// number and its largest finite value.
struct Format {
  int digits;
  int min_exponent;
  double largest;
};

Format format_of(DataType type) {
  switch (type) {
    case DataType::kF16:
      return {11, -14, 65504.0};
    case DataType::kBf16:
      return {8, -126, 0x1.fep127};
    case DataType::kF32:
      return {24, -126, 0x1.fffffep127};
  }
  return {24, -126, 0x1.fffffep127};
}

double spacing_at(double value, const Format& format) {
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

bool is_short_fraction(float value) {
  return std::abs(value) <= 8 && std::nearbyint(value * 8) == value * 8;
}

}  // namespace

double round_to_type(double value, DataType type) {
  if (value == 0 || !std::isfinite(value)) return value;
  const Format format = format_of(type);
  const double spacing = spacing_at(value, format);
  const double rounded = std::nearbyint(value / spacing) * spacing;
  if (std::abs(rounded) > format.largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

double unit_roundoff(DataType type) { return std::ldexp(1.0, -format_of(type).digits); }

double exact_value(const Problem& problem, const ExactElement& element) {
  const double added = problem.beta != 0 ? double{problem.beta} * element.c : 0.0;
  return double{problem.alpha} * element.sum + added;
}

double error_bound(const Problem& problem, const ExactElement& element) {
  const double step = 2 * unit_roundoff(problem.accumulator);
  const double growth = static_cast<double>(problem.k + 2) * step;
  // Past k u = 1/2 the formula's denominator is meaningless; the linear term still bounds what an
  // f16 accumulator does on data without overflow.
  const double gamma = growth < 0.5 ? growth / (1 - growth) : growth;
  const double magnitude = std::abs(double{problem.alpha}) * element.magnitude +
                           (problem.beta != 0 ? std::abs(double{problem.beta} * element.c) : 0.0);
  const double accumulated = gamma * magnitude;
  const double value = std::abs(exact_value(problem, element)) + accumulated;
  const Format format = format_of(problem.output_type());
  const double smallest = std::ldexp(1.0, format.min_exponent - format.digits);
  return accumulated + unit_roundoff(problem.output_type()) * value + smallest;
}

IntegerRange probe_range(const Problem& problem) {
  constexpr double kWantedSum = 8192;
  constexpr double kMostOnes = 200000;  // zeros and ones average 1/4: sums of 50000 fit f16
  if (problem.accumulator == DataType::kF16) return {-1, 1};
  const double scale = std::max(1.0, std::abs(double{problem.alpha}));
  const auto k = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  if (k * scale > kMostOnes) return {-1, 1};
  const double mean = std::sqrt(kWantedSum / (k * scale));
  if (mean < 0.75) return {0, 1};
  return {static_cast<int>(std::floor(mean / 2)), static_cast<int>(std::ceil(mean * 1.5))};
}

bool scales_exactly(const Problem& problem) {
  return is_short_fraction(problem.alpha) && is_short_fraction(problem.beta);
}

}  // namespace gemmsmith
