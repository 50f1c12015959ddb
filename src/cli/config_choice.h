// config_choice.h -- which config stands for us where a verb looks at one of ours.
#pragma once

#include <string>

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

}  // namespace gemmsmith::cli
