// kernel_problem.h -- the product that a config's kernel computes: the problem, or the problem
// transposed.
#pragma once

#include "problem/problem.h"
#include "space/config.h"

namespace gemmsmith {

// True where the config's kernel computes D^T = B^T A^T: its tile_m counts columns of D then, its
// cluster_n shares our B, and so on. Parameter `transpose` of sm90_ws.
bool is_transposed(const Config& config);

// What the kernel is launched for and compiled for. Constraints, models and plans speak of these.
Problem kernel_problem(const Problem& problem, const Config& config);
Signature kernel_signature(const Signature& signature, const Config& config);

}  // namespace gemmsmith
