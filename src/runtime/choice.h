// choice.h -- what serves one problem: a kernel of the plan table, a cuBLASLt configuration of the
// plan table, or cuBLASLt's heuristic; and, where it is the last, why.
#pragma once

#include <cstdint>
#include <limits>

#include "plan/launch_plan.h"
#include "plan/plan_table.h"

namespace gemmsmith::runtime {

struct VendorPlan;

enum class Source { kCublasLt, kKernel, kVendor };

// Why a problem is left to cuBLASLt's heuristic. Each has one sentence in reason_text().
enum class Rejection {
  kNone,
  kNoTable,
  kNoPlan,
  kAlignment,        // a pointer is less aligned than the plan needs
  kEpilogue,         // the plan has no kernel with epilogues
  kStrides,          // a leading dimension that the plan cannot take
  kOtherScalars,     // the plan was tuned for alpha and beta that ask for other work
  kScalars,          // half-precision alpha and beta on the device, which kernels do not read
  kWorkspace,        // smaller than the plan needs
  kCapturing,        // not yet on the device, and nothing may be loaded while a stream captures
  kCapturingChoice,  // without a plan, and nothing is chosen while a stream captures
  kLoadFailed,       // the driver refused the kernel
  kVendorVersion,    // made by another version of cuBLASLt, or none is here
  kVendorCheck,      // cuBLASLt no longer accepts the configuration
};

const char* reason_text(Rejection rejection);

struct Choice {
  Source source = Source::kCublasLt;
  Rejection rejection = Rejection::kNone;
  const plan::PlanEntry* entry = nullptr;  // of kKernel and kVendor
  bool is_of_policy = false;  // kKernel: of another problem's plan, whose kernel a policy chose
  // kKernel
  const plan::PlanEntry* follower = nullptr;  // of `entry`, if it has one
  bool counts_as_ours = false;                // the table has followers, which may come behind it
  plan::Functions functions;
  plan::LaunchPlan launch = {};
  // kVendor
  const VendorPlan* vendor = nullptr;
  // That the call must bring. (A kernel that needs some, by its launch, may also get ours.)
  std::int64_t workspace_bytes = 0;
  // With more than this, the call may be served better.
  std::int64_t most_workspace_bytes = std::numeric_limits<std::int64_t>::max();

  // A later call with the same problem and pointers may be served better: not to be remembered.
  bool is_provisional() const {
    return rejection == Rejection::kCapturing || rejection == Rejection::kCapturingChoice;
  }
  bool is_for(std::int64_t bytes) const {
    return bytes >= workspace_bytes && bytes <= most_workspace_bytes;
  }
};

}  // namespace gemmsmith::runtime
