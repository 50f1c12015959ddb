// settings.h -- the values that a config file, the environment and flags may all set; the later of
// the three wins, and each value remembers where it came from (`gemmsmith info` shows it).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gemmsmith {

struct SettingValue {
  std::string value;
  std::string origin;  // "default", "file PATH", "environment GEMMSMITH_DEVICE", "flag --device"
};

class Settings {
 public:
  // Names that may be set, with their defaults: device, store, cache_dir, log_level, seed,
  // compile_threads, workspace_mib.
  static const std::vector<std::pair<std::string, std::string>>& known();

  // Defaults, then the TOML file (GEMMSMITH_CONFIG, else $XDG_CONFIG_HOME/gemmsmith/config.toml
  // where it exists), then GEMMSMITH_<NAME>. Errors (kBadInput) name the file, line and key.
  static Result<Settings> load();
  static Result<Settings> load(const std::optional<std::filesystem::path>& file);

  void set_flag(std::string_view name, std::string value);

  const SettingValue& at(std::string_view name) const;
  const std::string& value(std::string_view name) const { return at(name).value; }
  // A whole number of at least `least`; the error names the setting and where it came from.
  Result<std::int64_t> integer(std::string_view name, std::int64_t least) const;

  const std::map<std::string, SettingValue, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, SettingValue, std::less<>> values_;
};

}  // namespace gemmsmith
