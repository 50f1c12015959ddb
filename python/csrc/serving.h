// serving.h -- the runtime as ops.cpp sees it. Apart, because torch's include folder brings an fmt
// of its own, which must not meet ours.
#pragma once

#include "blas/gemm_call.h"

namespace gemmsmith::python {

// Enqueues the call where a plan serves it. False: nothing was done.
bool serve(blas::GemmCall& call);

// Enqueues the call whatever serves it, epilogues included. False: nothing was done.
bool multiply(const blas::GemmCall& call);

}  // namespace gemmsmith::python
