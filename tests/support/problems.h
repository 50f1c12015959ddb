// problems.h -- problems that tests of many folders are about.
#pragma once

#include <cstdint>

#include "problem/problem.h"

namespace gemmsmith::test {

// Of f16, TN, packed.
inline Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return *make_problem(problem);
}

}  // namespace gemmsmith::test
