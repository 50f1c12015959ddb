#include "runtime/handle.h"

#include <limits>
#include <utility>

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

// Values on the device may be any.
plan::Epilogue epilogue_of(const vendor::Scalars& scalars) {
  return scalars.mode == vendor::ScalarMode::kDevice
             ? plan::Epilogue::kGeneral
             : plan::epilogue_of(scalars.alpha, scalars.beta);
}

CallKey make_key(std::uint64_t epoch, CUcontext context, const gemmsmithProblem_t& problem,
                 const vendor::Scalars& scalars, const void* a, const void* b, const void* c,
                 void* d) {
  CallKey key;
  key.epoch = epoch;
  key.context = context;
  key.problem = problem;
  const plan::Epilogue epilogue = epilogue_of(scalars);
  key.epilogue = static_cast<std::uint64_t>(epilogue);
  key.a = a;
  key.b = b;
  key.c = epilogue == plan::Epilogue::kGeneral ? c : nullptr;
  key.d = d;
  return key;
}

bool is_sound(const vendor::Workspace& workspace) {
  return (workspace.data != nullptr || workspace.bytes == 0) && workspace.bytes >= 0 &&
         reinterpret_cast<std::uintptr_t>(workspace.data) % 256 == 0;
}

Result<void> launch_kernel(const Driver& driver, const Choice& choice, plan::BoundLaunch& bound,
                           const vendor::Scalars& scalars, CUstream stream) {
  if (scalars.mode == vendor::ScalarMode::kDevice) {
    bound.args.alpha_device = static_cast<const float*>(scalars.device_alpha);
    bound.args.beta_device = static_cast<const float*>(scalars.device_beta);
  } else {
    bound.args.alpha = scalars.alpha;
    bound.args.beta = scalars.beta;
  }
  const CUresult result = plan::launch(driver, choice.launch, bound, choice.function, stream);
  if (result == CUDA_SUCCESS) return {};
  return check(driver, result, "launching a kernel of the plan table");
}

// Enqueues what the entry holds.
Result<void> serve(CachedCall& entry, const vendor::Operands& operands,
                   const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                   CUstream stream) {
  switch (entry.choice.source) {
    case Source::kKernel:
      return launch_kernel(entry.device->driver(), entry.choice, entry.bound, scalars, stream);
    case Source::kVendor:
      return entry.choice.vendor->run(operands, scalars, workspace, stream);
    case Source::kCublasLt:
      break;
  }
  return entry.device->run_fallback(entry.problem, operands, scalars, workspace, stream);
}

}  // namespace

Handle::Handle() : id_(next_epoch()), driver_(load_driver()) {
  if (!driver_) return;
  CUcontext context = nullptr;
  if ((*driver_)->CtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr)
    // What fails here fails again, and is reported, where it is needed.
    static_cast<void>(place_of(context, nullptr));
}

Handle::~Handle() {
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

std::uint64_t Handle::epoch() const {
  const Table* table = table_.load(std::memory_order_acquire);
  return table != nullptr ? table->epoch() : id_;
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

Result<std::string> Handle::load_table(std::unique_ptr<const Table> table) {
  const Table* raw = table.get();
  Place* place = nullptr;
  CUcontext context = nullptr;
  if (driver_ && (*driver_)->CtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) {
    GEMMSMITH_TRY(place, place_of(context, nullptr));
    const DeviceInfo& info = place->device->info();
    if (!raw->fits(info)) return raw->misfit_text(info);
  }
  {
    const std::lock_guard lock(mutex_);
    tables_.push_back(std::move(table));
    table_.store(raw, std::memory_order_release);
  }
  if (place != nullptr)
    if (ResidentTable* resident = resident_of(*place); resident != nullptr) resident->load_all();
  return std::string();
}

bool Handle::run_seen_before(const gemmsmithProblem_t* problem, const MatmulArguments& arguments,
                             Result<void>& result) const {
  if (problem == nullptr || problem->size != sizeof *problem || !driver_) return false;
  // Only values that say where and how to read the scalars; the rest is compared with a key that
  // passed the checks.
  const bool is_half = problem->compute_type == GEMMSMITH_COMPUTE_16F;
  if ((!is_half && problem->compute_type != GEMMSMITH_COMPUTE_32F) ||
      (problem->pointer_mode != GEMMSMITH_POINTER_MODE_HOST &&
       problem->pointer_mode != GEMMSMITH_POINTER_MODE_DEVICE))
    return false;
  if (!check_scalars(*problem, arguments)) return false;
  const vendor::Scalars scalars = read_scalars(*problem, arguments.alpha, arguments.beta);
  if (scalars.alpha == 0) return false;
  CUcontext context = nullptr;
  if ((*driver_)->CtxGetCurrent(&context) != CUDA_SUCCESS) return false;

  const CallKey key = make_key(epoch(), context, *problem, scalars, arguments.a, arguments.b,
                               arguments.c, arguments.d);
  CachedCall* const entry = CallCache::of_thread().find(key);
  if (entry == nullptr) return false;
  const vendor::Workspace workspace = {arguments.workspace,
                                       static_cast<std::int64_t>(arguments.workspace_bytes)};
  if (!is_sound(workspace) || workspace.bytes < entry->choice.workspace_bytes) return false;
  const vendor::Operands operands = {arguments.b, arguments.a,
                                     key.c != nullptr ? key.c : arguments.d, arguments.d};
  result = serve(*entry, operands, scalars, workspace, arguments.stream);
  return true;
}

Result<void> Handle::run_new(const gemmsmithProblem_t& problem, const Call& call, CUcontext context,
                             Place& place) {
  // The caller's A is our B.
  const CallKey key = make_key(epoch(), context, problem, call.scalars, call.operands.b,
                               call.operands.a, call.operands.c, call.operands.d);
  CachedCall& entry = CallCache::of_thread().make_room(key);
  entry.device = place.device.get();
  entry.problem = call.problem;
  entry.choice = {};
  entry.choice.rejection = Rejection::kNoTable;
  if (ResidentTable* resident = resident_of(place); resident != nullptr)
    entry.choice = resident->choose(call);
  if (entry.choice.source == Source::kKernel) {
    auto bound = plan::bind(place.device->driver(), entry.choice.launch,
                            {call.operands.a, call.operands.b, call.operands.c, call.operands.d});
    if (bound) {
      entry.bound = *bound;
    } else {
      entry.choice = {};
      entry.choice.rejection = Rejection::kStrides;
    }
  }
  if (!entry.choice.is_provisional()) entry.key = key;
  return serve(entry, call.operands, call.scalars, call.workspace, call.stream);
}

Result<void> Handle::matmul(const gemmsmithProblem_t* problem, const MatmulArguments& arguments) {
  Result<void> result;
  if (run_seen_before(problem, arguments, result)) return result;

  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(problem));
  GEMMSMITH_TRY(const Call call, check_call(checked, arguments));
  if (call.problem.is_empty()) return {};
  GEMMSMITH_TRY(const CUcontext context, current_context());
  GEMMSMITH_TRY(Place* const place, place_of(context, call.stream));
  if (call.is_scaling()) return place->device->run_scaling(call);
  return run_new(checked, call, context, *place);
}

Result<Handle::Plan> Handle::plan_of(const gemmsmithProblem_t* problem) {
  GEMMSMITH_TRY(const gemmsmithProblem_t checked, check_problem(problem));
  Plan plan;
  plan.choice.rejection = Rejection::kNoTable;
  GEMMSMITH_TRY(const CUcontext context, current_context());
  GEMMSMITH_TRY(Place* const place, place_of(context, nullptr));
  Call call;
  call.problem = to_row_major(checked);
  if (call.problem.is_empty() || call.is_scaling()) return plan;
  if (checked.pointer_mode == GEMMSMITH_POINTER_MODE_DEVICE) {
    call.scalars = vendor::Scalars::device(nullptr, nullptr);
    call.problem.beta = 1;
  } else {
    call.scalars = vendor::Scalars::host(1, 0);
  }
  call.workspace.bytes = std::numeric_limits<std::int64_t>::max();
  if (ResidentTable* resident = resident_of(*place); resident != nullptr) {
    plan.choice = resident->choose(call);
    if (const plan::PlanEntry* entry = plan.choice.entry; entry != nullptr) {
      plan.config = resident->table().plans().text(*entry);
      plan.expected_speedup = entry->ratio_chained;
    }
  }
  plan.workspace_bytes = plan.choice.source == Source::kCublasLt ? vendor::kWorkspaceBytes
                                                                 : plan.choice.workspace_bytes;
  return plan;
}

}  // namespace gemmsmith::runtime
