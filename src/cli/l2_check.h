// l2_check.h -- the L2 model held against the counters: what it predicts for a config, and what one
// launch of that config was counted to do.
#pragma once

#include <string>
#include <vector>

#include "base/table.h"
#include "device/counters.h"
#include "policy/l2_model.h"
#include "space/family.h"

namespace gemmsmith::cli {

// Configs whose traffic differs: of each of the `kernels` best-ranked kernels, the tile orders that
// are predicted to move the least, the middle and the most.
std::vector<Config> l2_candidates(const SpaceContext& context, int kernels);

struct L2Pair {
  Problem problem;
  Config config;
  policy::L2Traffic predicted;
  CounterValues counted;
};

Table l2_pairs_table(const std::vector<L2Pair>& pairs);

// "64 pairs: hit rate off by 3.2 points on the average (12.0 at most) ...".
std::string l2_errors_text(const std::vector<L2Pair>& pairs);

}  // namespace gemmsmith::cli
