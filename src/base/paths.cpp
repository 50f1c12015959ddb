#include "base/paths.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

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

std::vector<std::string> plans_in(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".plans") files.push_back(it->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// The program or library that this code is in.
std::filesystem::path own_file() {
  static const char here = 0;
  Dl_info info = {};
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  // A program's name may be what it was called by.
  const std::filesystem::path named = info.dli_fname;
  std::error_code error;
  const std::filesystem::path file =
      std::filesystem::canonical(named.has_parent_path() ? named : "/proc/self/exe", error);
  return error ? std::filesystem::path() : file;
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
  if (const auto folder = data_directory()) files = plans_in(*folder / "plans");
  for (std::string& file : installed_plan_files(own_file())) files.push_back(std::move(file));
  return files;
}

std::vector<std::string> installed_plan_files(const std::filesystem::path& file) {
  constexpr int kFoldersAbove = 3;  // prefix/lib/x86_64-linux-gnu/libX.so at the deepest
  std::filesystem::path folder = file.parent_path();
  for (int i = 0; i < kFoldersAbove && folder.has_parent_path(); ++i) {
    folder = folder.parent_path();
    const std::filesystem::path plans = folder / "share/gemmsmith/plans";
    std::error_code error;
    if (std::filesystem::is_directory(plans, error)) return plans_in(plans);
  }
  return {};
}

}  // namespace gemmsmith
