// plan_hints.h -- what a plan table suggests measuring first for a problem: kernels that won
// problems like it, whatever their types, alignments and scalars. A suggestion promises nothing;
// whoever takes it measures it.
#pragma once

#include <vector>

#include "plan/plan_table.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith::plan {

// At most `most` different configs that are legal for the problem, those of the nearest plans
// first. A plan of the problem's transpose counts as well, by the transposed kernel where the
// family has one, but comes behind an equally near plan. Operands are packed as the problem needs.
// Milliseconds.
std::vector<Config> hinted_configs(const PlanTable& table, const Problem& problem,
                                   const Target& target, std::size_t most);

}  // namespace gemmsmith::plan
