// fake_serving.h -- what the host-cost benchmarks share: shapes, and a plan table of kernels that
// the fake driver of the runtime's tests can run.
#pragma once

#include <gemmsmith/gemmsmith.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "plan/plan_table_writer.h"

namespace gemmsmith {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, gemmsmithGetLastErrorString());
  std::exit(1);
}

// As the C API would translate problem_of(index).
inline Problem row_major(int index) {
  Problem problem;
  problem.m = 64;
  problem.n = 64 + 8 * index;
  problem.k = 256;
  return *make_problem(problem);
}

inline gemmsmithProblem_t problem_of(int index) {
  const Problem our = row_major(index);
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = GEMMSMITH_OP_T;
  problem.transb = GEMMSMITH_OP_N;
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = our.n;
  problem.n = our.m;
  problem.k = our.k;
  problem.lda = our.ldb;
  problem.ldb = our.lda;
  problem.ldc = our.ldc;
  problem.ldd = our.ldd;
  return problem;
}

// A plan for each of problem_of(0) to problem_of(shapes - 1).
inline std::string table_of(int shapes) {
  plan::PlanTableWriter writer({"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"});
  const auto config = parse_config("sm90_ws:s2", kernel_families());
  for (int i = 0; i < shapes; ++i)
    require(writer
                .add_kernel_plan(row_major(i), *config, *known_target("h200"),
                                 {std::string("FAKE gemm tn maps f16\0", 22), "gemm", 128, 0}, {})
                .has_value(),
            "adding a plan");
  return *writer.bytes();
}

}  // namespace gemmsmith
