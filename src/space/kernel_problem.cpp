#include "space/kernel_problem.h"

#include "problem/transposed.h"
#include "space/family.h"

namespace gemmsmith {

bool is_transposed(const Config& config) {
  const int index = config.family->index_of("transpose");
  return index >= 0 && config.values[static_cast<std::size_t>(index)] == 1;
}

Problem kernel_problem(const Problem& problem, const Config& config) {
  return is_transposed(config) ? transposed(problem) : problem;
}

Signature kernel_signature(const Signature& signature, const Config& config) {
  return is_transposed(config) ? transposed(signature) : signature;
}

}  // namespace gemmsmith
