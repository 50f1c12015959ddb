// vendor_check.h -- cuBLASLt's own verdict on its configurations, for `space`. The library answers
// only beside a GPU; where there is none, the error says what is missing.
#pragma once

#include <memory>
#include <string>

#include "device/cuda.h"
#include "vendor/lt_matmul.h"

namespace gemmsmith::cli {

class VendorCheck {
 public:
  // Opens the library on `device` ("cuda:N"), which must be of the target's architecture. Errors:
  // kEnvironment (no driver, device or library), kUnsupported (another architecture, a recording).
  static Result<std::unique_ptr<VendorCheck>> open(const std::string& device, const Target& target);

  // "cuBLASLt 13.1.0 on cuda:0".
  const std::string& who() const { return who_; }

  // The problem's descriptors, to be asked about many configs through vendor::to_algo.
  // kUnsupported where there is nothing to compute.
  Result<vendor::LtMatmul> describe(const Problem& problem) const;

 private:
  explicit VendorCheck(CudaContext context) : context_(std::move(context)) {}
  CudaContext context_;  // outlives the handle
  std::shared_ptr<const vendor::LtHandle> handle_;
  std::string who_;
};

}  // namespace gemmsmith::cli
