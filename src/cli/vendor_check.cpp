#include "cli/vendor_check.h"

#include "cli/bench_session.h"
#include "measure/bench.h"

namespace gemmsmith::cli {

Result<std::unique_ptr<VendorCheck>> VendorCheck::open(const std::string& device,
                                                       const Target& target) {
  if (!is_gpu(device))
    return fail(ErrorCode::kUnsupported,
                "a recording, or a model, has no cuBLASLt to ask: pass --device cuda:N");
  GEMMSMITH_TRY(const int ordinal, cuda_ordinal(device));
  GEMMSMITH_TRY(const Driver* const driver, load_driver());
  GEMMSMITH_TRY(const DeviceInfo info, query_device(*driver, ordinal));
  if (info.target.compute_capability != target.compute_capability)
    return fail(ErrorCode::kUnsupported,
                "cuBLASLt answers for the device it runs on: {} ({}) is sm_{}, not sm_{}", device,
                info.target.name, info.target.compute_capability, target.compute_capability);
  GEMMSMITH_TRY(const std::shared_ptr<const vendor::BlasLibrary> library,
                vendor::BlasLibrary::open());
  GEMMSMITH_TRY(CudaContext context, CudaContext::open(ordinal));
  std::unique_ptr<VendorCheck> check(new VendorCheck(std::move(context)));
  GEMMSMITH_TRY(check->handle_, vendor::LtHandle::create(library));
  check->who_ = fmt::format("cuBLASLt {} on {}", library->version(), device);
  return check;
}

Result<vendor::LtMatmul> VendorCheck::describe(const Problem& problem) const {
  return vendor::LtMatmul::create(handle_, problem, vendor::kWorkspaceBytes);
}

}  // namespace gemmsmith::cli
