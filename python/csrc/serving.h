// serving.h -- the runtime as ops.cpp sees it. Apart, because torch's include folder brings an fmt
// of its own, which must not meet ours.
#pragma once

#include "blas/gemm_call.h"

namespace gemmsmith::python {

// Enqueues the call where a plan serves it. False: nothing was done.
bool serve(blas::GemmCall& call);

// Where cuBLASLt's workspace comes from, once it is known how much is needed.
struct Workspaces {
  std::int64_t limit = 0;                               // bytes
  void* (*make)(void* maker, std::int64_t bytes) = {};  // 256-byte aligned; null: none
  void* maker = nullptr;
};

enum class ServedBy { kNothing, kPlan, kLibrary };
// Enqueues the call by a plan's kernel, else by cuBLASLt, epilogues included. kNothing: nothing was
// done.
ServedBy serve_or_library(const blas::GemmCall& call, const Workspaces& workspaces);

// As gemmsmith_torch_forecast() answers.
int forecast(const blas::GemmCall& call, float beta, double* us_and_speedup);

// Of the plan tables that would be loaded, by their names, sizes and times.
std::uint64_t plans_identity();

// Whether a plan table that would be loaded has plans for what only these two ask for: beta * C, a
// bias, or a batch by other scalars than 1 and 0.
struct PlannedSums {
  bool addmm = false;
  bool baddbmm = false;
};
PlannedSums planned_sums();

}  // namespace gemmsmith::python
