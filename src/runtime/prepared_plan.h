// prepared_plan.h -- what a gemmsmithPlan_t points to: a problem that was checked once, with the
// context and table it was made for, so that a run looks at nothing but scalars and pointers.
#pragma once

#include <memory>

#include "runtime/handle.h"

namespace gemmsmith::runtime {

class PreparedPlan {
 public:
  // For the current context. Puts what serves the problem on the device, unless it captures.
  static Result<std::unique_ptr<PreparedPlan>> create(Handle& handle,
                                                      const gemmsmithProblem_t* problem);

  const Handle::Plan& info() const { return info_; }
  Result<void> run(const MatmulArguments& arguments) const;

 private:
  PreparedPlan(const gemmsmithProblem_t& problem, DeviceState& device, ResidentTable* resident,
               PolicyChooser* chooser, Handle::Plan info);
  Result<void> run_new(const MatmulArguments& arguments) const;

  gemmsmithProblem_t problem_;
  DeviceState& device_;
  ResidentTable* resident_;
  PolicyChooser* chooser_;
  Handle::Plan info_;
  std::uint64_t epoch_;
};

}  // namespace gemmsmith::runtime
