// serve.h -- what handles and plans share of a call: the key's changing part, and enqueueing what a
// cache entry holds. Inline, because a warm call is little else.
#pragma once

#include <utility>

#include "runtime/arguments.h"
#include "runtime/call_cache.h"
#include "runtime/capture_order.h"
#include "runtime/policy_chooser.h"
#include "runtime/resident_table.h"

namespace gemmsmith::runtime {

// Values on the device may be any.
inline plan::Epilogue epilogue_of(const vendor::Scalars& scalars) {
  return scalars.mode == vendor::ScalarMode::kDevice
             ? plan::Epilogue::kGeneral
             : plan::epilogue_of(scalars.alpha, scalars.beta);
}

// The part that differs from call to call of one problem.
template <class Key>
void fill_values(Key& key, const vendor::Scalars& scalars, const MatmulArguments& arguments) {
  const plan::Epilogue epilogue = epilogue_of(scalars);
  key.epilogue = static_cast<std::uint64_t>(epilogue);
  key.a = arguments.a;
  key.b = arguments.b;
  key.c = epilogue == plan::Epilogue::kGeneral ? arguments.c : nullptr;
  key.d = arguments.d;
}

inline vendor::Workspace workspace_of(const MatmulArguments& arguments) {
  return {arguments.workspace, static_cast<std::int64_t>(arguments.workspace_bytes)};
}

inline bool is_sound(const vendor::Workspace& workspace) {
  return (workspace.data != nullptr || workspace.bytes == 0) && workspace.bytes >= 0 &&
         reinterpret_cast<std::uintptr_t>(workspace.data) % 256 == 0;
}

// Ours, of arguments that passed the checks: A and B exchanged, D standing in for an unread C.
inline vendor::Operands operands_of(const vendor::Scalars& scalars,
                                    const MatmulArguments& arguments) {
  const bool reads_c = epilogue_of(scalars) == plan::Epilogue::kGeneral;
  return {arguments.b, arguments.a, reads_c ? arguments.c : arguments.d, arguments.d};
}

inline CUresult launch_kernel(const Driver& driver, const Choice& choice, plan::BoundLaunch& bound,
                              const vendor::Scalars& scalars, CUstream stream) {
  if (scalars.mode == vendor::ScalarMode::kDevice) {
    bound.args.alpha_device = static_cast<const float*>(scalars.device_alpha);
    bound.args.beta_device = static_cast<const float*>(scalars.device_beta);
  } else {
    bound.args.alpha = scalars.alpha;
    bound.args.beta = scalars.beta;
  }
  return plan::launch(driver, choice.launch, bound, choice.functions, stream);
}

// Sets the scratch of a kernel that needs some. False where there is none: the kernel cannot be
// launched now.
template <class Key>
bool set_scratch(CachedCall<Key>& entry, const vendor::Workspace& workspace, CUstream stream) {
  const std::int64_t bytes = entry.choice.launch.workspace_bytes;
  if (bytes == 0) return true;
  const auto scratch = entry.device->scratch().acquire(workspace, bytes, stream);
  if (!scratch) return false;
  return plan::use_scratch(entry.device->driver(), entry.choice.launch, entry.bound, *scratch)
      .has_value();
}

// Enqueues the entry's kernel. False where it has no scratch or does not fit: a context may have
// fewer SMs than its device, which the first launch tells.
template <class Key>
Result<bool> enqueue_kernel(CachedCall<Key>& entry, const vendor::Scalars& scalars,
                            const vendor::Workspace& workspace, CUstream stream) {
  if (!set_scratch(entry, workspace, stream)) return false;
  const Driver& driver = entry.device->driver();
  const CUresult result = launch_kernel(driver, entry.choice, entry.bound, scalars, stream);
  if (result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) return false;
  GEMMSMITH_CHECK(check(driver, result, "launching a kernel of the plan table"));
  return true;
}

// By the kernel of another plan. Null where it does not serve this call.
template <class Key>
CachedCall<AlternateKey<Key>>* find_alternate(CachedCall<Key>& entry, const plan::PlanEntry& plan,
                                              std::uint64_t serving, const Call& call) {
  using Cache = CallCache<AlternateKey<Key>>;
  const AlternateKey<Key> key = {entry.key.epoch, serving, entry.key};
  CachedCall<AlternateKey<Key>>* found = Cache::of_thread().find(key);
  if (found == nullptr) {
    found = &Cache::of_thread().make_room(key);
    found->device = entry.device;
    found->problem = entry.problem;
    found->extras = entry.extras;
    found->choice = entry.resident->choose_alternate(plan, call);
    bind_kernel(*entry.device, call, found->choice, found->bound);
    if (!found->choice.is_provisional()) found->key = key;
  }
  return found->choice.source == Source::kKernel ? found : nullptr;
}

// By the entry's kernel, or the follower's where the capture shows that a kernel of ours comes
// before.
template <class Key>
Result<bool> enqueue_kernel_in_order(CachedCall<Key>& entry, const vendor::Operands& operands,
                                     const vendor::Scalars& scalars,
                                     const vendor::Workspace& workspace, CUstream stream) {
  CaptureOrder& order = CaptureOrder::of_thread();
  const Driver& driver = entry.device->driver();
  const CaptureOrder::Behind behind = order.behind(driver, stream);
  bool is_enqueued = false;
  if (behind == CaptureOrder::Behind::kOurs && entry.choice.follower != nullptr) {
    const Call call = {entry.problem, entry.extras, scalars, operands, workspace, stream};
    auto* const follower =
        find_alternate(entry, *entry.choice.follower, AlternateKey<Key>::kFollower, call);
    if (follower != nullptr) {
      GEMMSMITH_TRY(is_enqueued, enqueue_kernel(*follower, scalars, workspace, stream));
    }
  }
  if (!is_enqueued) {
    GEMMSMITH_TRY(is_enqueued, enqueue_kernel(entry, scalars, workspace, stream));
  }
  if (is_enqueued && behind != CaptureOrder::Behind::kUnknown) order.remember(driver, stream);
  return is_enqueued;
}

// By cuBLASLt's heuristic.
template <class Key>
Result<void> enqueue_by_library(CachedCall<Key>& entry, const vendor::Operands& operands,
                                const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                                CUstream stream) {
  vendor::GivenWorkspace given(workspace);
  return entry.device->run_fallback(entry.problem, entry.extras, operands, scalars, given, stream);
}

// Enqueues what the entry holds, or by cuBLASLt's heuristic where its kernel cannot be launched.
template <class Key>
Result<void> enqueue(CachedCall<Key>& entry, const vendor::Operands& operands,
                     const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                     CUstream stream) {
  switch (entry.choice.source) {
    case Source::kKernel: {
      GEMMSMITH_TRY(const bool is_enqueued,
                    entry.choice.counts_as_ours
                        ? enqueue_kernel_in_order(entry, operands, scalars, workspace, stream)
                        : enqueue_kernel(entry, scalars, workspace, stream));
      if (is_enqueued) return {};
      break;
    }
    case Source::kVendor:
      return entry.choice.vendor->run(operands, scalars, workspace, stream);
    case Source::kCublasLt:
      break;
  }
  return enqueue_by_library(entry, operands, scalars, workspace, stream);
}

// Chooses what serves a call that multiplies: its plan, a kernel of the policy's choice, or
// cuBLASLt. `resident` may be null, and so may `chooser`.
void choose(ResidentTable* resident, PolicyChooser* chooser, const Call& call, Choice& choice);

// The same, and binds a kernel to the call's pointers. Tells of misses (miss_list.h).
void choose_and_bind(ResidentTable* resident, PolicyChooser* chooser, DeviceState& device,
                     const Call& call, Choice& choice, plan::BoundLaunch& bound);

// Binds a kernel that was chosen; where that fails, cuBLASLt is chosen.
void bind_kernel(DeviceState& device, const Call& call, Choice& choice, plan::BoundLaunch& bound);

// How a monitor watches what was chosen. A plan's first call inside a capture is not: then
// `must_ask_again` says that the entry may not be remembered so.
CallWatch watch_call(ResidentTable* resident, DeviceState& device, const Call& call,
                     const Choice& choice, bool& must_ask_again);

// Enqueues by `serving`, or by the plan where that does not serve this call; `serving` then says
// so.
template <class Key>
Result<void> enqueue_as(std::uint32_t& serving, CachedCall<Key>& entry,
                        const vendor::Operands& operands, const vendor::Scalars& scalars,
                        const vendor::Workspace& workspace, CUstream stream) {
  if (serving == watch::kLibrary)
    return enqueue_by_library(entry, operands, scalars, workspace, stream);
  if (const plan::PlanEntry* const plan = entry.watch.shape->alternate(serving); plan != nullptr) {
    const Call call = {entry.problem, entry.extras, scalars, operands, workspace, stream};
    if (auto* const other = find_alternate(entry, *plan, serving, call); other != nullptr)
      if (const auto done = enqueue_kernel(*other, scalars, workspace, stream); done && *done)
        return {};
  }
  serving = watch::kPlan;
  return enqueue(entry, operands, scalars, workspace, stream);
}

// With a monitor: as it orders, and timed now and then. False, and nothing was done, where the
// library should serve and that is the caller's to do.
template <class Key>
Result<bool> serve_watched(CachedCall<Key>& entry, const vendor::Operands& operands,
                           const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                           CUstream stream, bool may_use_library) {
  CallWatch& watch = entry.watch;
  const watch::Order order = watch.shape->order();
  WatchedShape::Look look;
  if (--watch.until_look == 0) {
    look = watch.shape->look(stream, watch.stride);
    watch.stride = look.is_probe && !look.is_timed
                       ? 1
                       : WatchedShape::next_stride(watch.stride, look.now_ns - watch.looked_ns);
    watch.looked_ns = look.now_ns;
    watch.until_look = watch.stride;
  }
  std::uint32_t serving = look.is_probe ? order.probe : order.serving;
  // A graph would keep the order for ever.
  if (serving != watch::kPlan && is_capturing(entry.device->driver(), stream))
    serving = watch::kPlan;
  if (serving == watch::kLibrary && !may_use_library) {
    if (look.is_timed) watch.shape->end_timing(stream, serving, false, false);
    return false;
  }
  auto done = enqueue_as(serving, entry, operands, scalars, workspace, stream);
  if (look.is_timed)
    watch.shape->end_timing(stream, serving, look.is_probe && order.serving != watch::kPlan,
                            done.has_value());
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return true;
}

// Enqueues what serves the entry. False as above.
template <class Key>
Result<bool> serve(CachedCall<Key>& entry, const vendor::Operands& operands,
                   const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                   CUstream stream, bool may_use_library) {
  if (entry.watch.shape != nullptr) [[unlikely]]
    return serve_watched(entry, operands, scalars, workspace, stream, may_use_library);
  GEMMSMITH_CHECK(enqueue(entry, operands, scalars, workspace, stream));
  return true;
}

template <class Key>
Result<void> serve(CachedCall<Key>& entry, const vendor::Operands& operands,
                   const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                   CUstream stream) {
  if (entry.watch.shape == nullptr) [[likely]]
    return enqueue(entry, operands, scalars, workspace, stream);
  GEMMSMITH_CHECK(serve_watched(entry, operands, scalars, workspace, stream, true));
  return {};
}

}  // namespace gemmsmith::runtime
