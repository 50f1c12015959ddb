// resident_table.h -- a plan table in one context: its kernels on the device and its cuBLASLt
// configurations checked against the library, each from its first use on. Looking up takes no lock
// and allocates nothing once a plan is there.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/arguments.h"
#include "runtime/choice.h"
#include "runtime/device_state.h"
#include "runtime/table.h"
#include "runtime/vendor_plan.h"

namespace gemmsmith::runtime {

// Why no plan is for the call's problem; kNone where one is, which a device may still refuse.
Rejection why_unplanned(const plan::PlanTable& plans, const Call& call);

class ResidentTable {
 public:
  // Both must outlive it; the table must fit the device. Touches no device.
  ResidentTable(const Table& table, DeviceState& device);
  ~ResidentTable();
  ResidentTable(const ResidentTable&) = delete;
  ResidentTable& operator=(const ResidentTable&) = delete;

  const Table& table() const { return table_; }

  // What serves the call: its plan where there is one that fits, else cuBLASLt and why.
  Choice choose(const Call& call);

  // Whether the kernel of another plan, its follower's or another problem's, serves the call,
  // checked as its own plan would be.
  Choice choose_alternate(const plan::PlanEntry& entry, const Call& call);
  // The same for a kernel that a policy chose for a problem without a plan. Has the scratch
  // prepared that the launch needs.
  Choice choose_for_policy(const plan::PlanEntry& entry, const Call& call);
  // Plans of other problems whose kernels are legal for what `entry` serves: first those that
  // differ in a smaller tile K alone, then those of the most similar problems. Each kernel once.
  std::vector<const plan::PlanEntry*> alternates_of(const plan::PlanEntry& entry,
                                                    const Problem& problem, std::size_t most) const;

  // Puts every kernel on the device. What cannot be loaded is reported by choose().
  void load_all();

 private:
  // A kernel plan on the device. Null functions: the driver refused them.
  struct KernelPlan {
    plan::Functions functions;
    // Of a persistent kernel, whatever the problem: what the device can hold at once is known after
    // loading only.
    unsigned most_ctas = 0;
  };
  // A list, since a plan serves several leading dimensions. A null plan: refused.
  struct VendorNode {
    Problem problem;
    vendor::ScalarMode mode = vendor::ScalarMode::kHost;
    std::unique_ptr<const VendorPlan> plan;
    VendorNode* next = nullptr;
  };
  using OwnedModule = OwnedHandle<CUmodule, &Driver::ModuleUnload>;
  struct Slot {
    std::atomic<const KernelPlan*> kernel{nullptr};
    std::atomic<const KernelPlan*> fused{nullptr};  // the kernel with epilogues
    std::atomic<VendorNode*> vendor{nullptr};
  };

  Choice choose_kernel(const plan::PlanEntry& entry, const Call& call);
  Choice choose_vendor(const plan::PlanEntry& entry, const Call& call);

  Slot& slot_of(const plan::PlanEntry& entry);
  // Null where the kernel is not there yet and nothing can be loaded now, because the stream, or
  // another thread's, captures.
  const KernelPlan* kernel_plan(const plan::PlanEntry& entry, bool fused, CUstream stream);
  const KernelPlan* load(const plan::PlanEntry& entry, bool fused);
  // Whether the device has what the launch needs beside its operands.
  bool has_scratch(const plan::LaunchPlan& launch);
  CUresult load_functions(const plan::PlanEntry& entry, bool fused, plan::Functions& functions);
  CUresult load_function(std::uint32_t index, CUfunction& function);
  // Null where the plan serves as many leading dimensions as it may already.
  const VendorNode* vendor_node(const plan::PlanEntry& entry, const Problem& problem,
                                vendor::ScalarMode mode);

  const Table& table_;
  DeviceState& device_;
  const bool has_followers_;
  std::vector<Slot> slots_;           // one an entry
  std::mutex mutex_;                  // of loading
  std::vector<OwnedModule> modules_;  // one a kernel; empty: not loaded
};

}  // namespace gemmsmith::runtime
