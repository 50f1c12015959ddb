// workspace.h -- how much workspace cuBLASLt gets to choose freely: what baselines are measured
// with, and what the runtime asks its callers for where the heuristic serves.
#pragma once

#include <cstdint>

namespace gemmsmith::vendor {

// Twice NVIDIA's recommendation for Hopper (cublasSetWorkspace: 32 MiB), so that no split-K
// algorithm is left out for want of it.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{64} << 20;

}  // namespace gemmsmith::vendor
