// handle.h -- what a gemmsmithHandle_t points to: the plan tables and policies loaded so far and
// the state of each CUDA context that it was used in. All only grow, so that readers need no lock
// and captured graphs keep their kernels; all of it goes with the handle.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/arguments.h"
#include "runtime/call_cache.h"
#include "runtime/device_state.h"
#include "runtime/loaded_policy.h"
#include "runtime/policy_chooser.h"
#include "runtime/resident_table.h"
#include "runtime/table.h"

namespace gemmsmith::runtime {

class Handle {
 public:
  // Loads the driver where there is one, and prepares the current context where there is one.
  // Whatever is missing is reported by the first call that needs it.
  Handle();
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Makes it the table in use and, with a context current, puts its kernels on the device. Returns
  // why the table does not fit that device, in which case nothing changes; "" where it was taken.
  Result<std::string> load_table(std::unique_ptr<const Table> table);

  // Makes it choose for problems without a plan, from the next call on; null: nothing does. Returns
  // why it does not fit the current context's device, in which case nothing changes; "" where it
  // was taken.
  Result<std::string> set_policy(std::unique_ptr<const LoadedPolicy> policy);

  Result<void> matmul(const gemmsmithProblem_t* problem, const MatmulArguments& arguments);

  // Groups of columns by a kernel of the table; kUnsupported, and nothing done, where none serves.
  Result<void> grouped_matmul(const gemmsmithProblem_t* problem, const MatmulArguments& arguments,
                              const std::int32_t* column_ends);

  // Which plans may serve run_if_planned().
  enum class Allowed { kKernels, kKernelsAndVendor };
  // Enqueues the product where a plan that is allowed serves it: false, and nothing was done, where
  // none does. Problems without an A and B to multiply count as such.
  Result<bool> run_if_planned(const gemmsmithProblem_t& problem, const MatmulArguments& arguments,
                              Allowed allowed);

  enum class ServedBy { kNothing, kKernel, kLibrary };
  // Enqueues the product by a plan's kernel where one serves it, else by cuBLASLt's heuristic among
  // algorithms with exact reductions (vendor::Extras), whose workspace comes from `workspaces`
  // instead of the arguments. kNothing, and nothing was done: as above, or the library is missing
  // or has no such algorithm.
  Result<ServedBy> run_by_kernel_or_library(const gemmsmithProblem_t& problem,
                                            const MatmulArguments& arguments,
                                            vendor::WorkspaceSource& workspaces);

  // What would serve a problem for 256-byte aligned pointers and any workspace, with alpha = 1 and
  // this beta (device scalars: any). Needs a device where the table has a plan for the problem,
  // since that may refuse it, and else none.
  struct Plan {
    Choice choice;
    std::string config;     // "" where cuBLASLt's heuristic chooses
    float expected_us = 0;  // when it was measured; 0 where unknown, as the next
    float expected_speedup = 0;
    std::string why_chosen;  // by a policy
    std::int64_t workspace_bytes = 0;
  };
  Result<Plan> plan_of(const gemmsmithProblem_t* problem, float beta = 0);

 private:
  friend class PreparedPlan;
  // One context's state, and what its device holds of the tables.
  struct Place {
    explicit Place(std::unique_ptr<DeviceState> state) : device(std::move(state)) {}
    std::unique_ptr<DeviceState> device;
    std::atomic<ResidentTable*> resident{nullptr};          // of the newest table
    std::vector<std::unique_ptr<ResidentTable>> residents;  // guarded by mutex_
    std::atomic<const LoadedPolicy*> misfit{nullptr};       // learnt from another device
    std::atomic<PolicyChooser*> chooser{nullptr};           // made last
    std::vector<std::unique_ptr<PolicyChooser>> choosers;   // guarded by mutex_
  };

  Result<CUcontext> current_context();
  Place* find_place(CUcontext context) const;
  // Creates it where it is new, except while the stream captures.
  Result<Place*> place_of(CUcontext context, CUstream stream);
  // Why what was loaded, a table or a policy, does not fit the current context's device, which the
  // log is told; "" where it does, and where no context is current. `place` then is the context's,
  // if there is one.
  template <class Loaded>
  Result<std::string> misfit_here(const Loaded& loaded, Place*& place);
  // By the table alone, whatever the device.
  Rejection why_unplanned(const Call& call) const;
  // Null where there is no table for this device.
  ResidentTable* resident_of(Place& place);

  // Null where no policy is set for this device. `resident` may be null.
  PolicyChooser* chooser_of(Place& place, ResidentTable* resident);

  // Of the table and the policy in use: what cached calls are told apart by.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // Null where the call was not seen lately, or must be looked at anew.
  CachedCall<CallKey>* find_seen(const gemmsmithProblem_t* problem,
                                 const MatmulArguments& arguments, vendor::Scalars& scalars) const;
  // What use(entry, operands, scalars) makes of the call's entry, seen or chosen now; Answer{}
  // where there is nothing to multiply.
  template <class Answer, class Use>
  Result<Answer> with_entry(const gemmsmithProblem_t& problem, const MatmulArguments& arguments,
                            const Use& use);
  CachedCall<CallKey>& choose_new(const gemmsmithProblem_t& problem, const Call& call,
                                  CUcontext context, Place& place);

  static constexpr std::size_t kMostContexts = 64;

  std::atomic<std::uint64_t> epoch_;
  Result<const Driver*> driver_;
  std::atomic<const Table*> table_{nullptr};
  std::atomic<const LoadedPolicy*> policy_{nullptr};
  std::array<std::atomic<Place*>, kMostContexts> places_{};
  std::mutex mutex_;  // of everything below, and of growing places_
  std::vector<std::unique_ptr<const Table>> tables_;
  std::vector<std::unique_ptr<const LoadedPolicy>> policies_;
  bool has_retained_primary_ = false;
};

}  // namespace gemmsmith::runtime
