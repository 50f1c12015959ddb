// plan_likeness.h -- how much one plan tells of another's problem: whether both do the same work,
// and how far apart their sizes are.
#pragma once

#include "plan/plan_table.h"

namespace gemmsmith::plan {

// Whether the kernels of one key's plan were compiled for, and tuned with, the other's work.
bool is_same_work(const PlanKey& a, const PlanKey& b);

// Factors of two between the sizes, added up over m, n, k and batch.
double doublings_between(const PlanKey& a, const PlanKey& b);

}  // namespace gemmsmith::plan
