#include "base/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/files.h"
#include "base/numbers.h"
#include "base/paths.h"

namespace gemmsmith {
namespace {

std::string environment_name(std::string_view setting) {
  std::string result = "GEMMSMITH_";
  for (const char c : setting)
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string known_names() {
  std::string text;
  for (const auto& [name, value] : Settings::known()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// A string's beginning, or what may be a whole number in one of TOML's spellings.
bool may_be_value(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text[0] == '"' || text[0] == '\'') return !text.empty();
  if (text[0] == '+' || text[0] == '-') text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(" \t#"));
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEFxo_") == text.npos;
}

// Refuses, before toml++ 3.3 sees it, what settings never need and what that parser does not
// survive: characters beyond ASCII where it looks for white space (undefined behaviour; long
// strings would hide them), tables and dates (failed assertions for some malformed ones). `place`
// is "FILE:LINE".
Result<void> check_line(std::string_view line, const std::string& place) {
  if (!trimmed(line).empty() && trimmed(line)[0] == '[')
    return fail(ErrorCode::kBadInput, "{}: a table: expected only lines 'name = value'", place);
  bool has_value = false;
  char inside = '\0';  // '"' or '\''
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside == '\0') {
      if (c == '#') return {};
      if (static_cast<unsigned char>(c) >= 0x80)
        return fail(ErrorCode::kBadInput,
                    "{}: a character beyond ASCII: expected only in comments and one-line strings",
                    place);
      if (c == '=' && !has_value) {
        has_value = true;
        if (!may_be_value(line.substr(i + 1)))
          return fail(ErrorCode::kBadInput, "{}: {}: expected a string or a whole number", place,
                      trimmed(line.substr(0, i)));
      }
      if (c == '"' || c == '\'') {
        if (line.substr(i, 3) == std::string(3, c))
          return fail(ErrorCode::kBadInput, "{}: a string in {}: expected strings of one line",
                      place, line.substr(i, 3));
        inside = c;
      }
    } else if (inside == '"' && c == '\\') {
      ++i;
    } else if (inside == c) {
      inside = '\0';
    }
  }
  return {};
}

Result<void> check_text(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    GEMMSMITH_CHECK(check_line(text.substr(0, end), fmt::format("{}:{}", file, number)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Result<std::string> toml_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  return fail(ErrorCode::kBadInput, "expected a string or a whole number");
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& Settings::known() {
  static const std::vector<std::pair<std::string, std::string>> settings = {
      {"device", "cuda:0"},     {"store", ""}, {"cache_dir", ""},
      {"log_level", "warning"}, {"seed", "1"}, {"compile_threads", "0"},
      {"workspace_mib", "64"},
  };
  return settings;
}

Result<Settings> Settings::load() {
  if (const char* named = std::getenv("GEMMSMITH_CONFIG"); named != nullptr && named[0] != '\0')
    return load(std::filesystem::path(named));
  std::error_code ignored;
  if (auto directory = config_directory();
      directory && std::filesystem::exists(*directory / "config.toml", ignored))
    return load(*directory / "config.toml");
  return load(std::nullopt);
}

Result<Settings> Settings::load(const std::optional<std::filesystem::path>& file) {
  Settings settings;
  for (const auto& [name, value] : known()) settings.values_[name] = {value, "default"};

  if (file) {
    GEMMSMITH_TRY(const std::string text, read_file(*file, kMostSettingsBytes));
    GEMMSMITH_CHECK(check_text(text, file->string()));
    toml::table table;
    try {
      table = toml::parse(text, file->string());
    } catch (const toml::parse_error& error) {
      return fail(ErrorCode::kBadInput, "{}:{}: {}", file->string(), error.source().begin.line,
                  error.description());
    }
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto line = node.source().begin.line;
      if (settings.values_.count(name) == 0)
        return fail(ErrorCode::kBadInput, "{}:{}: unknown setting '{}'; known are {}",
                    file->string(), line, name, known_names());
      auto value = toml_text(node);
      if (!value)
        return fail(ErrorCode::kBadInput, "{}:{}: {}: {}", file->string(), line, name,
                    value.error().what);
      settings.values_[name] = {*value, "file " + file->string()};
    }
  }

  for (const auto& [name, value] : known()) {
    const std::string variable = environment_name(name);
    if (const char* text = std::getenv(variable.c_str()); text != nullptr && text[0] != '\0')
      settings.values_[name] = {text, "environment " + variable};
  }
  return settings;
}

void Settings::set_flag(std::string_view name, std::string value) {
  std::string flag = "flag --" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  values_[std::string(name)] = {std::move(value), flag};
}

const SettingValue& Settings::at(std::string_view name) const { return values_.find(name)->second; }

Result<std::int64_t> Settings::integer(std::string_view name, std::int64_t least) const {
  const SettingValue& setting = at(name);
  auto value = parse_int64(setting.value);
  if (!value || *value < least)
    return fail(ErrorCode::kBadInput, "{} = '{}' ({}): expected a whole number of at least {}",
                name, setting.value, setting.origin, least);
  return *value;
}

}  // namespace gemmsmith
