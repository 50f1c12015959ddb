// analytic_ranker.h -- a config's predicted time from first principles: waves, bytes, pipeline
// fill, launch. Its constants were fitted once, no measurement goes in at run time; it orders
// candidates and starts the searches.
#pragma once

#include <vector>

#include "space/family.h"

namespace gemmsmith::policy {

// Microseconds, comparable among configs of one problem; not a promise of the real time.
double predicted_us(const Problem& problem, const Config& config, const Target& target);

// The `limit` best predicted configs of our families that are legal for the problem, best first,
// with at most `per_kernel` launch-time variants of one kernel.
std::vector<Config> ranked_configs(const Problem& problem, const Target& target, int limit,
                                   int per_kernel);

}  // namespace gemmsmith::policy
