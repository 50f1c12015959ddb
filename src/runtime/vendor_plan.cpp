#include "runtime/vendor_plan.h"

#include <limits>
#include <utility>

#include "vendor/cublaslt_family.h"

namespace gemmsmith::runtime {

Result<std::unique_ptr<const VendorPlan>> VendorPlan::make(
    const std::shared_ptr<const vendor::LtHandle>& handle, std::string_view config,
    const Problem& problem, vendor::ScalarMode mode) {
  const Family* const families[] = {&vendor::cublaslt_family()};
  GEMMSMITH_TRY(const Config parsed, parse_config(config, families));
  // Unlimited here: a call whose workspace is too small for the plan is served otherwise.
  GEMMSMITH_TRY(
      vendor::LtMatmul matmul,
      vendor::LtMatmul::create(handle, problem, std::numeric_limits<std::int64_t>::max(), mode));
  GEMMSMITH_TRY(vendor::LtAlgo algo, vendor::to_algo(parsed, matmul));
  return std::unique_ptr<const VendorPlan>(new VendorPlan{std::move(matmul), algo});
}

}  // namespace gemmsmith::runtime
