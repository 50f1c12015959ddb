#include "problem/target.h"

namespace gemmsmith {

Result<Target> known_target(std::string_view name) {
  // NVIDIA A100-SXM4-80GB, H100-SXM5 and H200 datasheets; L2 of the H200 as its driver reports it.
  if (name == "a100")
    return Target{"NVIDIA A100", 80,    108,  40LL << 20, 163 << 10,
                  164 << 10,     65536, 2048, 1410,       2.039e12};
  if (name == "h100")
    return Target{"NVIDIA H100", 90,    132,  50LL << 20, 227 << 10,
                  228 << 10,     65536, 2048, 1980,       3.35e12};
  if (name == "h200")
    return Target{"NVIDIA H200", 90,    132,  60LL << 20, 227 << 10,
                  228 << 10,     65536, 2048, 1980,       4.8e12};
  return fail(ErrorCode::kBadInput, "unknown target '{}': expected a100, h100 or h200", name);
}

Result<std::string> compile_architecture(int compute_capability) {
  if (compute_capability == 80) return std::string("sm_80");
  if (compute_capability == 90) return std::string("sm_90a");
  return fail(ErrorCode::kUnsupported,
              "compute capability {}.{}: gemmsmith has kernels for 8.0 (A100) and 9.0 (H100, H200)",
              compute_capability / 10, compute_capability % 10);
}

}  // namespace gemmsmith
