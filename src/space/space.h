// space.h -- all legal configs of a problem on a target, and why the others are not legal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "space/family.h"

namespace gemmsmith {

struct EnumerationReport {
  std::int64_t considered = 0;  // size of the full product
  std::int64_t legal = 0;
  std::map<std::string, std::int64_t> removed_by;  // constraint id -> configs it cut first
};

// Calls `visit` for each legal config of the family in lexicographic order of its parameters;
// `visit` returns false to stop early. Prunes as it goes: a constraint is tested once its
// parameters are set. Finalists-only parameters stay at their default.
EnumerationReport enumerate(const Family& family, const SpaceContext& context,
                            const std::function<bool(const Config&)>& visit);

// The distinct kernels among the legal configs, each as its first config in that order: what the
// family would compile for the problem.
std::vector<Config> kernels_of(const Family& family, const SpaceContext& context);

// Problems of these types that leave room: a kernel that is legal for none of them is legal for no
// problem on the target. One is large in every dimension, one has a long k and few tiles, and one
// has operands that no wide load can read.
std::vector<Problem> roomy_problems(const Signature& signature);

}  // namespace gemmsmith
