// serve.h -- what handles and plans share of a call: the key's changing part, and enqueueing what a
// cache entry holds. Inline, because a warm call is little else.
#pragma once

#include "runtime/arguments.h"
#include "runtime/call_cache.h"
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

// Enqueues what the entry holds, or by cuBLASLt's heuristic where its kernel has no scratch or does
// not fit: a context may have fewer SMs than its device, which the first launch tells.
template <class Key>
Result<void> serve(CachedCall<Key>& entry, const vendor::Operands& operands,
                   const vendor::Scalars& scalars, const vendor::Workspace& workspace,
                   CUstream stream) {
  switch (entry.choice.source) {
    case Source::kKernel: {
      if (!set_scratch(entry, workspace, stream)) break;
      const Driver& driver = entry.device->driver();
      const CUresult result = launch_kernel(driver, entry.choice, entry.bound, scalars, stream);
      if (result == CUDA_SUCCESS) return {};
      if (result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) break;
      return check(driver, result, "launching a kernel of the plan table");
    }
    case Source::kVendor:
      return entry.choice.vendor->run(operands, scalars, workspace, stream);
    case Source::kCublasLt:
      break;
  }
  return entry.device->run_fallback(entry.problem, entry.extras, operands, scalars, workspace,
                                    stream);
}

// Chooses what serves a call that multiplies, and binds a kernel to its pointers. `resident` may be
// null. Tells of misses (miss_list.h).
void choose_and_bind(ResidentTable* resident, DeviceState& device, const Call& call, Choice& choice,
                     plan::BoundLaunch& bound);

}  // namespace gemmsmith::runtime
