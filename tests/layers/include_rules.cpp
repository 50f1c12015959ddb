// include_rules.cpp -- the table of ranks and packages, and a plain reader of #include lines.
#include "layers/include_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/files.h"

namespace gemmsmith::layers {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, int, std::less<>>& ranks() {
  static const std::map<std::string, int, std::less<>> table = {
      {"base", 0},    {"problem", 1}, {"space", 2},   {"compile", 3}, {"device", 3},
      {"policy", 3},  {"watch", 3},   {"monitor", 4}, {"vendor", 4},  {"plan", 4},
      {"measure", 5}, {"store", 5},   {"runtime", 5}, {"search", 6},  {"blas", 7},
      {"export", 7},  {"report", 7},  {"train", 7},   {"cli", 8},
  };
  return table;
}

// Packages whose headers stay in one folder, so that nothing else pays for them or depends on them.
struct PackageRule {
  std::string_view prefix;
  std::set<std::string, std::less<>> folders;
};

const std::vector<PackageRule>& package_rules() {
  static const std::vector<PackageRule> rules = {
      {"CLI/", {"cli"}},
      {"SQLiteCpp/", {"store"}},
      {"sqlite3.h", {"store"}},
      {"spdlog/", {"base"}},
      {"toml++/", {"base", "monitor"}},
      {"xxhash.h", {"base"}},
      {"nvrtc.h", {"compile"}},
      {"zstd.h", {"device"}},
      {"Eigen/", {"policy"}},
      {"torch/", {"train"}},
      {"cupti", {"device"}},
  };
  return rules;
}

// Includes that name no folder of src/: those that host code shares with others.
constexpr std::string_view kKernelArguments[] = {
    "kernels/parts/args.cuh", "kernels/parts/harness_args.cuh", "kernels/parts/pack_args.cuh"};
constexpr std::string_view kPublicHeaders = "gemmsmith/";

struct Include {
  int line = 0;
  bool quoted = false;
  std::string name;
};

std::vector<Include> includes_of(const fs::path& file) {
  std::vector<Include> includes;
  const auto text = read_file(file);
  if (!text) return includes;
  int line = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    ++line;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto skip_blanks = [&] {
      row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
    };
    skip_blanks();
    if (row.empty() || row.front() != '#') continue;
    row.remove_prefix(1);
    skip_blanks();
    if (row.rfind("include", 0) != 0) continue;
    row.remove_prefix(7);
    skip_blanks();
    if (row.empty() || (row.front() != '"' && row.front() != '<')) continue;
    const bool quoted = row.front() == '"';
    const std::size_t close = row.find(quoted ? '"' : '>', 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({line, quoted, std::string(row.substr(1, close - 1))});
  }
  return includes;
}

std::optional<int> rank_of(std::string_view folder) {
  const auto found = ranks().find(folder);
  if (found == ranks().end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> broken_rule(const std::string& folder, const Include& include) {
  if (!include.quoted) {
    for (const PackageRule& rule : package_rules())
      if (include.name.rfind(rule.prefix, 0) == 0 && rule.folders.count(folder) == 0)
        return fmt::format("{} includes <{}>, which belongs in {}/ alone", folder, include.name,
                           *rule.folders.begin());
    return std::nullopt;
  }
  if (std::ranges::find(kKernelArguments, include.name) != std::end(kKernelArguments))
    return *rank_of(folder) >= *rank_of("plan")
               ? std::nullopt
               : std::optional(
                     fmt::format("{} is below plan and may not know kernel arguments", folder));
  if (include.name.rfind(kPublicHeaders, 0) == 0)
    return *rank_of(folder) >= *rank_of("runtime")
               ? std::nullopt
               : std::optional(
                     fmt::format("{} is below runtime and may not know the C API", folder));
  const std::string target = include.name.substr(0, include.name.find('/'));
  const auto target_rank = rank_of(target);
  if (include.name.find('/') == std::string::npos || !target_rank)
    return fmt::format("\"{}\" starts with no folder of src/", include.name);
  if (target != folder && *target_rank >= *rank_of(folder))
    return fmt::format("{} (rank {}) may not include {} (rank {})", folder, *rank_of(folder),
                       target, *target_rank);
  return std::nullopt;
}

std::vector<fs::path> source_files(const fs::path& source_folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source_folder)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() &&
        (extension == ".h" || extension == ".cpp" || extension == ".c" || extension == ".hpp"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Violation> find_violations(const fs::path& source_folder) {
  std::vector<Violation> violations;
  for (const fs::path& file : source_files(source_folder)) {
    const fs::path relative = fs::relative(file, source_folder);
    const std::string folder = relative.begin()->string();
    if (!rank_of(folder)) {
      violations.push_back({relative.string(), 0, fmt::format("folder {} has no rank", folder)});
      continue;
    }
    for (const Include& include : includes_of(file))
      if (auto reason = broken_rule(folder, include))
        violations.push_back({relative.string(), include.line, std::move(*reason)});
  }
  return violations;
}

int count_includes(const fs::path& source_folder) {
  std::size_t count = 0;
  for (const fs::path& file : source_files(source_folder)) count += includes_of(file).size();
  return static_cast<int>(count);
}

}  // namespace gemmsmith::layers
