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

// Refuses, before toml++ 3.3 sees it, what settings never need and what that parser does not
// survive: characters beyond ASCII where it looks for white space (undefined behaviour), and tables
// (a failed assertion for some malformed ones). `file` is for the message.
Result<void> check_text(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  int line = 1;
  bool line_is_blank = true;
  char inside = '\0';  // '#', '"' or '\''
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_is_blank = true;
      inside = '\0';
      continue;
    }
    if (inside == '\0') {
      if (static_cast<unsigned char>(c) >= 0x80)
        return fail(
            ErrorCode::kBadInput,
            "{}:{}: a character beyond ASCII: expected only in comments and one-line strings", file,
            line);
      if (c == '[' && line_is_blank)
        return fail(ErrorCode::kBadInput, "{}:{}: a table: expected only lines 'name = value'",
                    file, line);
      if (c == '#' || c == '"' || c == '\'') inside = c;
    } else if (inside == '"' && c == '\\' && i + 1 < text.size()) {
      // A folded line of a long string: white space is looked for.
      const char next = text[i + 1];
      if (next == ' ' || next == '\t' || next == '\r' || next == '\n')
        inside = '\0';
      else
        ++i;
    } else if (inside == c && c != '#') {
      inside = '\0';
    }
    line_is_blank = line_is_blank && (c == ' ' || c == '\t');
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
    GEMMSMITH_TRY(const std::string text, read_file(*file));
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
