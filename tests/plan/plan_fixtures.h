// plan_fixtures.h -- problems and configs that the tests of this folder share.
#pragma once

#include "space/family.h"
#include "support/problems.h"

namespace gemmsmith::test {

inline Problem batch_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  Problem problem = problem_of(m, n, k);
  problem.batch = batch;
  return *make_problem(problem);
}

inline Config config_of(const char* text) { return *parse_config(text, kernel_families()); }

inline Target h200() { return *known_target("h200"); }

}  // namespace gemmsmith::test
