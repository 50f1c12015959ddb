// vendor_plan.h -- a cuBLASLt configuration of the plan table, built and checked against the
// library that is here. It fits one problem with its leading dimensions, for pointers at least as
// aligned as the problem says.
#pragma once

#include <memory>
#include <string_view>

#include "vendor/lt_matmul.h"

namespace gemmsmith::runtime {

struct VendorPlan {
  vendor::LtMatmul matmul;
  vendor::LtAlgo algo;

  // kBadInput for a text that is no config of the family; kUnsupported where the library does not
  // accept it for the problem. The problem's beta only says whether C is read.
  static Result<std::unique_ptr<const VendorPlan>> make(
      const std::shared_ptr<const vendor::LtHandle>& handle, std::string_view config,
      const Problem& problem, vendor::ScalarMode mode);

  Result<void> run(const vendor::Operands& operands, const vendor::Scalars& scalars,
                   const vendor::Workspace& workspace, CUstream stream) const {
    return matmul.run(algo, operands, scalars, workspace, stream);
  }
};

}  // namespace gemmsmith::runtime
