// workspace.h -- how much device memory beside its operands a kernel of ours may ask for.
#pragma once

#include <cstdint>

namespace gemmsmith {

// What cuBLAS recommends to give it on Hopper (cublasSetWorkspace), so that a caller who provides
// for the one has provided for the other.
constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{32} << 20;

}  // namespace gemmsmith
