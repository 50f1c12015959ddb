// arguments.h -- the C API's argument rules, in the order that gemmsmith.h promises (convention 6).
// An error names the argument, its value and the rule.
#pragma once

#include <gemmsmith/gemmsmith.h>

#include <cstddef>

#include "base/result.h"
#include "vendor/blas_types.h"

namespace gemmsmith::runtime {

// What gemmsmithMatmul was given, as it came.
struct MatmulArguments {
  const void* alpha = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* beta = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  gemmsmithStream_t stream = nullptr;
};

// The same checked and in our own terms: row-major, operands exchanged.
struct Call {
  Problem problem;  // alpha and beta of the host (with device scalars: 1 and 1), real alignment
  vendor::Extras extras;
  vendor::Scalars scalars;
  vendor::Operands operands;
  vendor::Workspace workspace;
  gemmsmithStream_t stream = nullptr;

  // D = beta * C: A and B are not read.
  bool is_scaling() const {
    return problem.k == 0 || (scalars.mode == vendor::ScalarMode::kHost && scalars.alpha == 0);
  }
};

// Before 0.2 the structure ended with ldd: that size is accepted for ever.
constexpr std::size_t kFirstProblemBytes = 80;

// Every epilogue, or-ed; and those that kernels of a plan table have.
constexpr std::int32_t kServedEpilogues = GEMMSMITH_EPILOGUE_RELU | GEMMSMITH_EPILOGUE_BIAS |
                                          GEMMSMITH_EPILOGUE_GELU_TANH |
                                          GEMMSMITH_EPILOGUE_GELU_ERF | GEMMSMITH_EPILOGUE_SILU;
constexpr std::int32_t kFusedEpilogues = kServedEpilogues;

// Reads a problem of any accepted size, as one of this header's size. kBadInput or kUnsupported for
// a size that cannot be.
Result<gemmsmithProblem_t> read_problem(const gemmsmithProblem_t* problem);

// Lowers the alignment of a batch's first matrix to that of all.
void lower_alignment(int& alignment, std::int64_t stride, std::int64_t element_bytes);

// Reads a problem and checks it. kBadInput, or
// kUnsupported for a type that the library does not compute.
Result<gemmsmithProblem_t> check_problem(const gemmsmithProblem_t* problem);

// That alpha and beta can be read. The problem needs a valid pointer mode and compute type.
Result<void> check_scalars(const gemmsmithProblem_t& problem, const MatmulArguments& arguments);

// alpha and beta as they count in our own terms. The pointers must have been checked.
vendor::Scalars read_scalars(const gemmsmithProblem_t& problem, const void* alpha,
                             const void* beta);

// Everything else; `problem` comes from check_problem(). Pointers are not looked at for an empty
// problem.
Result<Call> check_call(const gemmsmithProblem_t& problem, const MatmulArguments& arguments);

}  // namespace gemmsmith::runtime
