// cases.h -- the layers of public mixture-of-experts models, and how many rows each expert gets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem/problem.h"

namespace gemmsmith::grouped {

struct Case {
  std::string model;
  Problem problem;
  std::vector<std::int32_t> ends;  // of each group's rows
};

// Sizes of the models' published configurations, with few rows (decoding) and many (prefill),
// spread over the experts by Zipf's law in a drawn order.
std::vector<Case> all_cases(std::uint64_t seed);

}  // namespace gemmsmith::grouped
