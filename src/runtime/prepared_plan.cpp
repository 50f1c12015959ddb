#include "runtime/prepared_plan.h"

#include <utility>

#include "runtime/serve.h"

namespace gemmsmith::runtime {

PreparedPlan::PreparedPlan(const gemmsmithProblem_t& problem, DeviceState& device,
                           ResidentTable* resident, PolicyChooser* chooser, Handle::Plan info)
    : problem_(problem),
      device_(device),
      resident_(resident),
      chooser_(chooser),
      info_(std::move(info)),
      epoch_(next_epoch()) {}

Result<std::unique_ptr<PreparedPlan>> PreparedPlan::create(Handle& handle,
                                                           const gemmsmithProblem_t* problem) {
  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(problem));
  GEMMSMITH_TRY(Handle::Plan info, handle.plan_of(problem));
  GEMMSMITH_TRY(const CUcontext context, handle.current_context());
  GEMMSMITH_TRY(Handle::Place* const place, handle.place_of(context, nullptr));
  ResidentTable* const resident = handle.resident_of(*place);
  return std::unique_ptr<PreparedPlan>(new PreparedPlan(
      checked, *place->device, resident, handle.chooser_of(*place, resident), std::move(info)));
}

Result<void> PreparedPlan::run(const MatmulArguments& arguments) const {
  GEMMSMITH_CHECK(check_scalars(problem_, arguments));
  const vendor::Scalars scalars = read_scalars(problem_, arguments.alpha, arguments.beta);
  PlanCallKey key;
  key.epoch = epoch_;
  fill_values(key, scalars, arguments);
  CachedCall<PlanCallKey>* const entry = CallCache<PlanCallKey>::of_thread().find(key);
  const vendor::Workspace workspace = workspace_of(arguments);
  const bool is_zero = scalars.mode == vendor::ScalarMode::kHost && scalars.alpha == 0;
  if (entry == nullptr || is_zero || !is_sound(workspace) || !entry->choice.is_for(workspace.bytes))
    return run_new(arguments);
  return serve(*entry, operands_of(scalars, arguments), scalars, workspace, arguments.stream);
}

Result<void> PreparedPlan::run_new(const MatmulArguments& arguments) const {
  GEMMSMITH_TRY(const Call call, check_call(problem_, arguments));
  if (call.problem.is_empty()) return {};
  if (call.is_scaling()) return device_.run_scaling(call);
  PlanCallKey key;
  key.epoch = epoch_;
  fill_values(key, call.scalars, arguments);
  CachedCall<PlanCallKey>& entry = CallCache<PlanCallKey>::of_thread().make_room(key);
  entry.device = &device_;
  entry.problem = call.problem;
  entry.extras = call.extras;
  entry.resident = resident_;
  choose_and_bind(resident_, chooser_, device_, call, entry.choice, entry.bound);
  bool must_ask_again = false;
  entry.watch = watch_call(resident_, device_, call, entry.choice, must_ask_again);
  if (!entry.choice.is_provisional() && !must_ask_again) entry.key = key;
  return serve(entry, call.operands, call.scalars, call.workspace, call.stream);
}

}  // namespace gemmsmith::runtime
