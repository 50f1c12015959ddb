#include "runtime/handle.h"

#include <cstring>
#include <limits>
#include <utility>

#include "runtime/grouped_call.h"
#include "runtime/log_sink.h"
#include "runtime/miss_list.h"
#include "runtime/serve.h"
#include "runtime/translate.h"
#include "vendor/workspace.h"

namespace gemmsmith::runtime {
namespace {

// Makes a context current for a while.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
    is_current_ = driver.CtxGetCurrent(&previous_) == CUDA_SUCCESS &&
                  driver.CtxSetCurrent(context) == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    if (is_current_) driver_.CtxSetCurrent(previous_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  bool is_current() const { return is_current_; }

 private:
  const Driver& driver_;
  CUcontext previous_ = nullptr;
  bool is_current_ = false;
};

void fill_key(CallKey& key, std::uint64_t epoch, CUcontext context, const vendor::Scalars& scalars,
              const MatmulArguments& arguments) {
  key.epoch = epoch;
  key.context = context;
  fill_values(key, scalars, arguments);
}

// Whether the table has nothing under the problem's key.
bool has_no_plan(Rejection rejection) {
  return rejection == Rejection::kNoPlan || rejection == Rejection::kAlignment ||
         rejection == Rejection::kOtherScalars;
}

// Whether tuning the problem could give it a plan that serves here.
bool is_worth_tuning(Rejection rejection) {
  switch (rejection) {
    case Rejection::kNoTable:
    case Rejection::kNoPlan:
    case Rejection::kAlignment:
    case Rejection::kStrides:
    case Rejection::kOtherScalars:
    case Rejection::kVendorVersion:
    case Rejection::kCapturingChoice:
      return true;
    default:
      return false;
  }
}

// Tells of a problem that no plan serves, once.
void note_miss(const Driver& driver, const Call& call, Rejection rejection) {
  if ((!MissList::is_recorded_by_process() && !has_log_sink()) || !is_worth_tuning(rejection))
    return;
  MissList& misses = MissList::of_process();
  if (misses.note(call.problem) && has_log_sink())
    log_to_sink(GEMMSMITH_LOG_HINT, fmt::format("no plan serves {}: {}", describe(call.problem),
                                                reason_text(rejection)));
  if (!misses.has_unwritten() || is_capturing(driver, call.stream)) return;
  if (const std::string failure = misses.write(); failure != "")
    log_to_sink(GEMMSMITH_LOG_ERROR, failure);
}

}  // namespace

void choose(ResidentTable* resident, PolicyChooser* chooser, const Call& call, Choice& choice) {
  if (resident == nullptr) {
    choice = {};
    choice.rejection = Rejection::kNoTable;
    return;
  }
  choice = resident->choose(call);
  if (chooser != nullptr && has_no_plan(choice.rejection))
    choice = chooser->choose(call, choice.rejection);
}

void choose_and_bind(ResidentTable* resident, PolicyChooser* chooser, DeviceState& device,
                     const Call& call, Choice& choice, plan::BoundLaunch& bound) {
  choose(resident, chooser, call, choice);
  if (choice.rejection == Rejection::kWorkspace) choice.most_workspace_bytes = call.workspace.bytes;
  bind_kernel(device, call, choice, bound);
  // What a policy serves a plan may serve better.
  if (choice.is_of_policy)
    note_miss(device.driver(), call, Rejection::kNoPlan);
  else if (choice.source == Source::kCublasLt)
    note_miss(device.driver(), call, choice.rejection);
}

void bind_kernel(DeviceState& device, const Call& call, Choice& choice, plan::BoundLaunch& bound) {
  if (choice.source != Source::kKernel) return;
  auto made = plan::bind(device.driver(), choice.launch,
                         {call.operands.a, call.operands.b, call.operands.c, call.operands.d,
                          nullptr, call.extras.bias});
  if (made) {
    bound = *made;
  } else {
    choice = {};
    choice.rejection = Rejection::kStrides;
  }
}

Handle::Handle() : epoch_(next_epoch()), driver_(load_driver()) {
  // Made here rather than by a call, which may be captured.
  if (MissList::is_recorded_by_process()) MissList::of_process();
  watched_process();
  if (!driver_) return;
  CUcontext context = nullptr;
  if ((*driver_)->CtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr)
    // What fails here fails again, and is reported, where it is needed.
    static_cast<void>(place_of(context, nullptr));
}

Handle::~Handle() {
  if (MissList::is_recorded_by_process()) MissList::of_process().write();
  if (!driver_) return;
  for (std::atomic<Place*>& slot : places_) {
    std::unique_ptr<Place> place(slot.load());
    if (place == nullptr) continue;
    const CurrentContext current(**driver_, place->device->context());
    // Without its context, which took everything of it along, there is nothing left to free on the
    // device; and cuBLASLt may not be asked to.
    if (!current.is_current()) static_cast<void>(place.release());
  }
  if (has_retained_primary_) (*driver_)->DevicePrimaryCtxRelease_v2(0);
}

Result<CUcontext> Handle::current_context() {
  if (!driver_) return tl::unexpected<Error>(driver_.error());
  const Driver& driver = **driver_;
  CUcontext context = nullptr;
  GEMMSMITH_CHECK(check(driver, driver.CtxGetCurrent(&context), "asking for the current context"));
  if (context != nullptr) return context;
  // As the CUDA runtime does on a thread's first call.
  GEMMSMITH_CHECK(check(driver, driver.DevicePrimaryCtxRetain(&context, 0),
                        "retaining device 0's primary context"));
  {
    const std::lock_guard lock(mutex_);
    if (has_retained_primary_) driver.DevicePrimaryCtxRelease_v2(0);  // held once is enough
    has_retained_primary_ = true;
  }
  GEMMSMITH_CHECK(check(driver, driver.CtxSetCurrent(context), "making a context current"));
  return context;
}

Handle::Place* Handle::find_place(CUcontext context) const {
  for (const std::atomic<Place*>& slot : places_) {
    Place* place = slot.load(std::memory_order_acquire);
    if (place == nullptr) return nullptr;
    if (place->device->context() == context) return place;
  }
  return nullptr;
}

Result<Handle::Place*> Handle::place_of(CUcontext context, CUstream stream) {
  if (Place* place = find_place(context); place != nullptr) return place;
  if (is_capturing(**driver_, stream))
    return fail(ErrorCode::kUnsupported,
                "this context's first use of the handle is inside a stream capture: call "
                "gemmsmithCreate, gemmsmithLoadPlanTable or one gemmsmithMatmul in it before "
                "capturing");
  const std::lock_guard lock(mutex_);
  if (Place* place = find_place(context); place != nullptr) return place;
  for (std::atomic<Place*>& slot : places_) {
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    GEMMSMITH_TRY(auto device, DeviceState::create(**driver_, context));
    auto place = std::make_unique<Place>(std::move(device));
    slot.store(place.get(), std::memory_order_release);
    return place.release();  // owned by places_
  }
  return fail(ErrorCode::kUnsupported,
              "the handle was used in {} contexts, which is as many as it serves: create another",
              kMostContexts);
}

ResidentTable* Handle::resident_of(Place& place) {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr || !table->fits(place.device->info())) return nullptr;
  ResidentTable* resident = place.resident.load(std::memory_order_acquire);
  if (resident != nullptr && &resident->table() == table) return resident;
  const std::lock_guard lock(mutex_);
  ResidentTable* found = nullptr;
  for (const auto& known : place.residents)
    if (&known->table() == table) found = known.get();
  if (found == nullptr) {
    place.residents.push_back(std::make_unique<ResidentTable>(*table, *place.device));
    found = place.residents.back().get();
  }
  // Meanwhile another thread may have loaded a newer table, whose place this is then.
  if (table == table_.load(std::memory_order_acquire))
    place.resident.store(found, std::memory_order_release);
  return found;
}

template <class Loaded>
Result<std::string> Handle::misfit_here(const Loaded& loaded, Place*& place) {
  CUcontext context = nullptr;
  if (!driver_ || (*driver_)->CtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr)
    return std::string();
  GEMMSMITH_TRY(place, place_of(context, nullptr));
  const DeviceInfo& info = place->device->info();
  if (loaded.fits(info)) return std::string();
  log_to_sink(GEMMSMITH_LOG_INFO, loaded.misfit_text(info));
  return loaded.misfit_text(info);
}

Result<std::string> Handle::load_table(std::unique_ptr<const Table> table) {
  const Table* raw = table.get();
  Place* place = nullptr;
  GEMMSMITH_TRY(std::string misfit, misfit_here(*raw, place));
  if (!misfit.empty()) return misfit;
  {
    const std::lock_guard lock(mutex_);
    tables_.push_back(std::move(table));
    table_.store(raw, std::memory_order_release);
    // Behind the table: who reads the new epoch sees the new table, too.
    epoch_.store(next_epoch(), std::memory_order_release);
  }
  if (place != nullptr)
    if (ResidentTable* resident = resident_of(*place); resident != nullptr) {
      resident->load_all();
      chooser_of(*place, resident);
    }
  if (has_log_sink())
    log_to_sink(GEMMSMITH_LOG_INFO,
                fmt::format("plan table with {} plans for {} is in use",
                            raw->plans().entries().size(), raw->plans().device_name()));
  return std::string();
}

Result<std::string> Handle::set_policy(std::unique_ptr<const LoadedPolicy> policy) {
  const LoadedPolicy* const raw = policy.get();
  Place* place = nullptr;
  if (raw != nullptr) {
    GEMMSMITH_TRY(std::string misfit, misfit_here(*raw, place));
    if (!misfit.empty()) return misfit;
  }
  {
    const std::lock_guard lock(mutex_);
    if (policy != nullptr) policies_.push_back(std::move(policy));
    policy_.store(raw, std::memory_order_release);
    epoch_.store(next_epoch(), std::memory_order_release);
  }
  if (place != nullptr) chooser_of(*place, resident_of(*place));
  if (has_log_sink())
    log_to_sink(GEMMSMITH_LOG_INFO, raw != nullptr
                                        ? "a policy chooses for problems without a plan"
                                        : "no policy chooses for problems without a plan");
  return std::string();
}

PolicyChooser* Handle::chooser_of(Place& place, ResidentTable* resident) {
  const LoadedPolicy* const policy = policy_.load(std::memory_order_acquire);
  if (policy == nullptr || resident == nullptr ||
      policy == place.misfit.load(std::memory_order_relaxed))
    return nullptr;
  PolicyChooser* const newest = place.chooser.load(std::memory_order_acquire);
  if (newest != nullptr && newest->is_of(*resident, *policy)) return newest;
  if (!policy->fits(place.device->info())) {
    place.misfit.store(policy, std::memory_order_relaxed);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& known : place.choosers)
    if (known->is_of(*resident, *policy)) return known.get();
  place.choosers.push_back(std::make_unique<PolicyChooser>(*resident, *place.device, *policy));
  place.chooser.store(place.choosers.back().get(), std::memory_order_release);
  return place.choosers.back().get();
}

CachedCall<CallKey>* Handle::find_seen(const gemmsmithProblem_t* problem,
                                       const MatmulArguments& arguments,
                                       vendor::Scalars& scalars) const {
  if (problem == nullptr || !driver_) return nullptr;
  // Only values that say where and how to read the scalars; the rest is compared with a key that
  // passed the checks.
  const bool is_half = problem->compute_type == GEMMSMITH_COMPUTE_16F;
  if ((problem->size != sizeof *problem && problem->size != kFirstProblemBytes) ||
      (!is_half && problem->compute_type != GEMMSMITH_COMPUTE_32F) ||
      (problem->pointer_mode != GEMMSMITH_POINTER_MODE_HOST &&
       problem->pointer_mode != GEMMSMITH_POINTER_MODE_DEVICE))
    return nullptr;
  if (!check_scalars(*problem, arguments)) return nullptr;
  scalars = read_scalars(*problem, arguments.alpha, arguments.beta);
  if (scalars.mode == vendor::ScalarMode::kHost && scalars.alpha == 0) return nullptr;
  CUcontext context = nullptr;
  if ((*driver_)->CtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;

  CallKey key;
  if (problem->size == sizeof *problem) {
    key.problem = *problem;
  } else {
    std::memcpy(&key.problem, problem, kFirstProblemBytes);
    key.problem.size = sizeof *problem;
  }
  fill_key(key, epoch(), context, scalars, arguments);
  CachedCall<CallKey>* const entry = CallCache<CallKey>::of_thread().find(key);
  if (entry == nullptr) return nullptr;
  const vendor::Workspace workspace = workspace_of(arguments);
  if (!is_sound(workspace) || !entry->choice.is_for(workspace.bytes)) return nullptr;
  return entry;
}

CachedCall<CallKey>& Handle::choose_new(const gemmsmithProblem_t& problem, const Call& call,
                                        CUcontext context, Place& place) {
  CallKey key;
  key.problem = problem;
  // The caller's A is our B.
  MatmulArguments arguments;
  arguments.a = call.operands.b;
  arguments.b = call.operands.a;
  arguments.c = call.operands.c;
  arguments.d = call.operands.d;
  fill_key(key, epoch(), context, call.scalars, arguments);
  CachedCall<CallKey>& entry = CallCache<CallKey>::of_thread().make_room(key);
  entry.device = place.device.get();
  entry.problem = call.problem;
  entry.extras = call.extras;
  ResidentTable* const resident = resident_of(place);
  entry.resident = resident;
  choose_and_bind(resident, chooser_of(place, resident), *place.device, call, entry.choice,
                  entry.bound);
  bool must_ask_again = false;
  entry.watch = watch_call(resident, *place.device, call, entry.choice, must_ask_again);
  if (!entry.choice.is_provisional() && !must_ask_again) entry.key = key;
  return entry;
}

Result<void> Handle::matmul(const gemmsmithProblem_t* problem, const MatmulArguments& arguments) {
  vendor::Scalars scalars;
  if (CachedCall<CallKey>* const seen = find_seen(problem, arguments, scalars); seen != nullptr)
    return serve(*seen, operands_of(scalars, arguments), scalars, workspace_of(arguments),
                 arguments.stream);

  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(problem));
  GEMMSMITH_TRY(const Call call, check_call(checked, arguments));
  if (call.problem.is_empty()) return {};
  GEMMSMITH_TRY(const CUcontext context, current_context());
  GEMMSMITH_TRY(Place* const place, place_of(context, call.stream));
  if (call.is_scaling()) return place->device->run_scaling(call);
  return serve(choose_new(checked, call, context, *place), call.operands, call.scalars,
               call.workspace, call.stream);
}

Result<void> Handle::grouped_matmul(const gemmsmithProblem_t* problem,
                                    const MatmulArguments& arguments,
                                    const std::int32_t* column_ends) {
  GEMMSMITH_TRY(const Call call, check_grouped_call(problem, arguments, column_ends));
  if (call.problem.is_empty()) return {};
  GEMMSMITH_TRY(const CUcontext context, current_context());
  GEMMSMITH_TRY(Place* const place, place_of(context, call.stream));
  Choice choice;
  choice.rejection = Rejection::kNoTable;
  if (ResidentTable* const resident = resident_of(*place); resident != nullptr)
    choice = resident->choose(call);
  if (choice.source != Source::kKernel)
    return fail(ErrorCode::kUnsupported,
                "{}: {}; nothing else can serve groups whose sizes only the device knows",
                describe(call.problem), reason_text(choice.rejection));
  const Driver& driver = place->device->driver();
  GEMMSMITH_TRY(plan::BoundLaunch bound,
                plan::bind(driver, choice.launch,
                           {call.operands.a, call.operands.b, call.operands.c, call.operands.d,
                            column_ends, nullptr}));
  return check(driver, launch_kernel(driver, choice, bound, call.scalars, call.stream),
               "launching a kernel of the plan table");
}

template <class Answer, class Use>
Result<Answer> Handle::with_entry(const gemmsmithProblem_t& problem,
                                  const MatmulArguments& arguments, const Use& use) {
  vendor::Scalars scalars;
  if (CachedCall<CallKey>* const seen = find_seen(&problem, arguments, scalars); seen != nullptr)
    return use(*seen, operands_of(scalars, arguments), scalars);
  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(&problem));
  GEMMSMITH_TRY(const Call call, check_call(checked, arguments));
  if (call.problem.is_empty() || call.is_scaling()) return Answer{};
  GEMMSMITH_TRY(const CUcontext context, current_context());
  GEMMSMITH_TRY(Place* const place, place_of(context, call.stream));
  return use(choose_new(checked, call, context, *place), call.operands, call.scalars);
}

Result<bool> Handle::run_if_planned(const gemmsmithProblem_t& problem,
                                    const MatmulArguments& arguments, Allowed allowed) {
  const bool may_use_library = allowed == Allowed::kKernelsAndVendor;
  const vendor::Workspace workspace = workspace_of(arguments);
  return with_entry<bool>(
      problem, arguments,
      [&](CachedCall<CallKey>& entry, const vendor::Operands& operands,
          const vendor::Scalars& scalars) -> Result<bool> {
        const bool may_run = entry.choice.source == Source::kKernel
                                 ? set_scratch(entry, workspace, arguments.stream)
                                 : entry.choice.source == Source::kVendor && may_use_library;
        if (!may_run) return false;
        return serve(entry, operands, scalars, workspace, arguments.stream, may_use_library);
      });
}

Result<Handle::ServedBy> Handle::run_by_kernel_or_library(const gemmsmithProblem_t& problem,
                                                          const MatmulArguments& arguments,
                                                          vendor::WorkspaceSource& workspaces) {
  const vendor::Workspace workspace = workspace_of(arguments);
  return with_entry<ServedBy>(
      problem, arguments,
      [&](CachedCall<CallKey>& entry, const vendor::Operands& operands,
          const vendor::Scalars& scalars) -> Result<ServedBy> {
        if (entry.choice.source == Source::kKernel &&
            set_scratch(entry, workspace, arguments.stream)) {
          GEMMSMITH_TRY(const bool is_enqueued,
                        serve(entry, operands, scalars, workspace, arguments.stream, false));
          if (is_enqueued) return ServedBy::kKernel;
        }
        if (entry.device->lt() == nullptr) return ServedBy::kNothing;
        vendor::Extras extras = entry.extras;
        extras.exact_reductions = true;
        const auto done = entry.device->run_fallback(entry.problem, extras, operands, scalars,
                                                     workspaces, arguments.stream);
        if (done) return ServedBy::kLibrary;
        if (done.error().code == ErrorCode::kDevice) return tl::unexpected<Error>(done.error());
        return ServedBy::kNothing;
      });
}

Rejection Handle::why_unplanned(const Call& call) const {
  const Table* table = table_.load(std::memory_order_acquire);
  return table != nullptr ? runtime::why_unplanned(table->plans(), call) : Rejection::kNoTable;
}

Result<Handle::Plan> Handle::plan_of(const gemmsmithProblem_t* problem, float beta) {
  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(problem));
  Plan plan;
  plan.choice.rejection = Rejection::kNoTable;
  Call call;
  call.problem = to_row_major(checked);
  if (call.problem.is_empty() || call.is_scaling()) return plan;
  if (checked.pointer_mode == GEMMSMITH_POINTER_MODE_DEVICE) {
    call.scalars = vendor::Scalars::device(nullptr, nullptr);
    call.problem.beta = 1;
  } else {
    call.scalars = vendor::Scalars::host(1, beta);
    call.problem.beta = beta;
  }
  call.workspace.bytes = std::numeric_limits<std::int64_t>::max();
  if (const auto context = current_context(); context) {
    GEMMSMITH_TRY(Place* const place, place_of(*context, nullptr));
    if (ResidentTable* resident = resident_of(*place); resident != nullptr) {
      PolicyChooser* const chooser = chooser_of(*place, resident);
      choose(resident, chooser, call, plan.choice);
      if (const plan::PlanEntry* entry = plan.choice.entry; entry != nullptr) {
        plan.config = resident->table().plans().text(*entry);
        if (plan.choice.is_of_policy) {
          plan.why_chosen = describe(chooser->evidence(call.problem));
        } else {
          plan.expected_us = entry->expected_us;
          plan.expected_speedup = entry->ratio_chained;
        }
      }
    }
  } else {
    // Where there is no plan to refuse, no device is needed to say so.
    plan.choice.rejection = why_unplanned(call);
    if (plan.choice.rejection == Rejection::kNone) return tl::unexpected<Error>(context.error());
  }
  switch (plan.choice.source) {
    case Source::kCublasLt:
      plan.workspace_bytes = vendor::kWorkspaceBytes;
      break;
    case Source::kKernel:
      plan.workspace_bytes = plan.choice.launch.workspace_bytes;
      break;
    case Source::kVendor:
      plan.workspace_bytes = plan.choice.workspace_bytes;
      break;
  }
  return plan;
}

}  // namespace gemmsmith::runtime
