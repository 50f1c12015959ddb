// config_choice.h -- which config stands for us where a verb looks at one of ours.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "measure/bench.h"
#include "space/config.h"

namespace gemmsmith::cli {

// The config, and why it: "given", "store", "ranked" or "recorded".
struct Choice {
  Config config;
  std::string source;
};

// What was named wins over the store's winner, and that over the fastest of the `ranked`
// best-ranked ones (on a recording: over the best it holds). `named` may be empty.
Result<Choice> choose_config(const std::string& named, int ranked, const Session& session,
                             Bench& bench, const Problem& problem);

// Configs by the name of their shape ("64_4096_64"), from a CSV whose header names the columns
// shape and config, as `gemmsmith store show --csv` and `gemmsmith profile --csv` print; rows
// without a config are left out. Errors (kBadInput) name file and line.
using ConfigsByShape = std::map<std::string, std::vector<std::string>>;
Result<ConfigsByShape> read_choices(const std::filesystem::path& path);

}  // namespace gemmsmith::cli
