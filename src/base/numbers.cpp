#include "base/numbers.h"

#include <charconv>
#include <cmath>

namespace gemmsmith {

Result<std::int64_t> parse_int64(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range)
    return fail(ErrorCode::kBadInput, "'{}' does not fit in 64 bits", text);
  if (error != std::errc() || stop != end || text.empty())
    return fail(ErrorCode::kBadInput, "'{}' is not a whole number", text);
  return value;
}

Result<double> parse_double(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty() || !std::isfinite(value))
    return fail(ErrorCode::kBadInput, "'{}' is not a finite number", text);
  return value;
}

}  // namespace gemmsmith
