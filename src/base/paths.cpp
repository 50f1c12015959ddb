#include "base/paths.h"

#include <cstdlib>

namespace gemmsmith {
namespace {

// The specification says that relative values are invalid and must be ignored.
std::optional<std::filesystem::path> absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || value[0] != '/') return std::nullopt;
  return std::filesystem::path(value);
}

std::optional<std::filesystem::path> xdg(const char* own, const char* variable,
                                         const char* under_home) {
  if (own != nullptr) {
    if (const char* value = std::getenv(own); value != nullptr && value[0] != '\0')
      return std::filesystem::path(value);
  }
  if (auto base = absolute_variable(variable)) return *base / "gemmsmith";
  if (auto home = absolute_variable("HOME")) return *home / under_home / "gemmsmith";
  return std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> cache_directory() {
  return xdg("GEMMSMITH_CACHE_DIR", "XDG_CACHE_HOME", ".cache");
}

std::optional<std::filesystem::path> data_directory() {
  return xdg("GEMMSMITH_DATA_DIR", "XDG_DATA_HOME", ".local/share");
}

std::optional<std::filesystem::path> config_directory() {
  return xdg(nullptr, "XDG_CONFIG_HOME", ".config");
}

}  // namespace gemmsmith
