// numbers.h -- strict text-to-number conversion and small integer helpers used everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

// Accepts an optional minus and decimal digits only. Errors (kBadInput) say "is not a whole
// number" or "does not fit in 64 bits" and quote the text.
Result<std::int64_t> parse_int64(std::string_view text);

// A finite decimal number; the whole text must be used.
Result<double> parse_double(std::string_view text);

constexpr double kMib = 1 << 20;  // in bytes

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace gemmsmith
