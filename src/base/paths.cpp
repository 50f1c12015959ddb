#include "base/paths.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

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

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
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

std::vector<std::string> plan_files() {
  if (const char* named = std::getenv("GEMMSMITH_PLANS"); named != nullptr && *named != '\0')
    return split_at_colons(named);
  std::vector<std::string> files;
  const auto folder = data_directory();
  if (!folder) return files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(*folder / "plans", error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".plans") files.push_back(it->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace gemmsmith
