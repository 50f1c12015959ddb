// paths.h -- where files live: the XDG base directories (specification 0.8), each overridable by
// an environment variable of ours.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gemmsmith {

// GEMMSMITH_CACHE_DIR, else $XDG_CACHE_HOME/gemmsmith, else ~/.cache/gemmsmith. Empty where no
// home directory is known: callers then work without a cache.
std::optional<std::filesystem::path> cache_directory();

// GEMMSMITH_DATA_DIR, else $XDG_DATA_HOME/gemmsmith, else ~/.local/share/gemmsmith.
std::optional<std::filesystem::path> data_directory();

// $XDG_CONFIG_HOME/gemmsmith, else ~/.config/gemmsmith.
std::optional<std::filesystem::path> config_directory();

// The plan tables that serve where none is named, the first that fits the device alone:
// GEMMSMITH_PLANS, file names separated by colons; else every *.plans of the data folder's plans/,
// by name, and behind them those that were installed with this program or library. Files may be
// missing.
std::vector<std::string> plan_files();

// The plan tables that were installed with the file: *.plans of share/gemmsmith/plans in the
// nearest of the three folders above the file's own that has it, by name.
std::vector<std::string> installed_plan_files(const std::filesystem::path& file);

}  // namespace gemmsmith
