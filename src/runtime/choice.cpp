#include "runtime/choice.h"

namespace gemmsmith::runtime {

const char* reason_text(Rejection rejection) {
  switch (rejection) {
    case Rejection::kNone:
      return "";
    case Rejection::kNoTable:
      return "no plan table is loaded for this device";
    case Rejection::kNoPlan:
      return "the plan table has no plan for this problem";
    case Rejection::kAlignment:
      return "a pointer is less aligned than the plan needs";
    case Rejection::kEpilogue:
      return "the plan has no kernel with epilogues: make the table with --epilogues";
    case Rejection::kStrides:
      return "the plan cannot take these leading dimensions";
    case Rejection::kOtherScalars:
      return "the plan was tuned for other alpha and beta";
    case Rejection::kScalars:
      return "kernels do not read half-precision alpha and beta from the device";
    case Rejection::kWorkspace:
      return "the workspace is smaller than the plan needs";
    case Rejection::kCapturing:
      return "the plan's kernel was not on the device before the capture began";
    case Rejection::kCapturingChoice:
      return "the plan table has no plan for this problem, and a policy chooses outside of "
             "captures "
             "only";
    case Rejection::kLoadFailed:
      return "the driver did not load the plan's kernel";
    case Rejection::kVendorVersion:
      return "the plan belongs to another version of cuBLASLt";
    case Rejection::kVendorCheck:
      return "cuBLASLt does not accept the plan's configuration here";
  }
  return "";
}

}  // namespace gemmsmith::runtime
