#include "cli/number_options.h"

#include <cmath>

#include "base/numbers.h"

namespace gemmsmith::cli {
namespace {

bool is_too_large(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

CLI::Option* add_whole_number(CLI::App& app, const std::string& flag, const std::string& help,
                              std::int64_t least, std::int64_t most,
                              const std::function<void(std::int64_t)>& take) {
  const auto read = [=](const std::string& text) {
    const auto value = parse_int64(text);
    if (value && *value >= least && *value <= most) return take(*value);
    // Where digits alone do not help, the upper end is what was meant to be known.
    const bool is_above = value ? *value > most : is_too_large(text);
    throw CLI::ValidationError(
        flag, is_above
                  ? fmt::format("'{}': expected a whole number from {} to {}", text, least, most)
                  : fmt::format("'{}': expected a whole number of at least {}", text, least));
  };
  return app.add_option_function<std::string>(flag, read, help)->type_name("INT");
}

CLI::Option* add_number(CLI::App& app, const std::string& flag, double& target,
                        const std::string& help, double least) {
  const auto read = [=, &target](const std::string& text) {
    const auto value = parse_double(text);
    if (!value || *value < least)
      throw CLI::ValidationError(
          flag, fmt::format("'{}': expected a number of at least {}", text, least));
    target = *value;
  };
  return app.add_option_function<std::string>(flag, read, help)->type_name("FLOAT");
}

CLI::Option* add_number(CLI::App& app, const std::string& flag, float& target,
                        const std::string& help) {
  const auto read = [=, &target](const std::string& text) {
    const auto value = parse_double(text);
    if (!value || !std::isfinite(static_cast<float>(*value)))
      throw CLI::ValidationError(
          flag, fmt::format("'{}': expected a number that a 32-bit float holds", text));
    target = static_cast<float>(*value);
  };
  return app.add_option_function<std::string>(flag, read, help)->type_name("FLOAT");
}

}  // namespace gemmsmith::cli
