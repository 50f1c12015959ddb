#include "space/config.h"

#include <algorithm>
#include <cctype>

#include "base/numbers.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

std::string text_of(const Config& config, bool compile_time_only) {
  std::string text(config.family->name);
  char separator = ':';
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const Parameter& parameter = config.family->parameters[i];
    if (config.values[i] == parameter.default_value) continue;
    if (compile_time_only && parameter.binding != Binding::kCompile) continue;
    text += separator;
    text += parameter.code;
    text += std::to_string(config.values[i]);
    separator = '.';
  }
  return text;
}

std::string known_codes(const Family& family) {
  std::string text;
  for (const Parameter& parameter : family.parameters) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({})", parameter.code, parameter.name);
  }
  return text;
}

// Splits "cm2" into the code "cm" and the value 2 and sets it.
Result<void> set_from_text(Config& config, std::string_view piece, std::vector<bool>& seen,
                           std::string_view whole) {
  const std::size_t digits = static_cast<std::size_t>(
      std::find_if(piece.begin(), piece.end(),
                   [](unsigned char c) { return std::isdigit(c) || c == '-'; }) -
      piece.begin());
  const std::string_view code = piece.substr(0, digits);
  const auto& parameters = config.family->parameters;
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& p) { return p.code == code; });
  if (found == parameters.end())
    return fail(ErrorCode::kBadInput, "config '{}': '{}' is no parameter of {}; it has {}", whole,
                piece, config.family->name, known_codes(*config.family));
  const auto index = static_cast<std::size_t>(found - parameters.begin());
  if (seen[index])
    return fail(ErrorCode::kBadInput, "config '{}': {} is given twice", whole, found->name);
  seen[index] = true;
  auto value = parse_int64(piece.substr(digits));
  if (!value || *value < -1'000'000 || *value > 1'000'000)
    return fail(ErrorCode::kBadInput, "config '{}': the value of {} in '{}' is not a small number",
                whole, found->name, piece);
  config.values[index] = static_cast<int>(*value);
  return {};
}

}  // namespace

int Config::at(std::string_view parameter) const {
  return values[static_cast<std::size_t>(family->index_of(parameter))];
}

void Config::set(std::string_view parameter, int value) {
  values[static_cast<std::size_t>(family->index_of(parameter))] = value;
}

std::string to_text(const Config& config) { return text_of(config, false); }
std::string kernel_text(const Config& config) { return text_of(config, true); }

std::string kernel_name(const Config& config, const Signature& signature) {
  return kernel_text(config) + " " + describe(signature);
}

Result<Config> parse_config(std::string_view text, std::span<const Family* const> families) {
  for (const Family* family : families)
    for (const Preset& preset : family->presets)
      if (preset.name == text) return parse_config(preset.config, families);

  const std::size_t colon = text.find(':');
  const std::string_view family_name = text.substr(0, colon);
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const Family* f) { return f->name == family_name; });
  if (family == families.end()) {
    std::string names;
    for (const Family* f : families) names += (names.empty() ? "" : ", ") + std::string(f->name);
    return fail(ErrorCode::kBadInput,
                "config '{}': no family or preset of that name; the families are {}", text, names);
  }
  Config config = default_config(**family);
  if (colon == std::string_view::npos) return config;
  std::vector<bool> seen(config.values.size(), false);
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t dot = rest.find('.');
    GEMMSMITH_CHECK(set_from_text(config, rest.substr(0, dot), seen, text));
    if (dot == std::string_view::npos) return config;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace gemmsmith
