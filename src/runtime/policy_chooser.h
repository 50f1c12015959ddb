// policy_chooser.h -- what serves problems without a plan where a policy is set: a kernel of the
// plan table that the policy chose (plan/kernel_chooser.h), once for each problem. Asked only where
// a table has no plan and the calling thread has not seen the call lately, so that its lock is on
// no warm path.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "plan/kernel_chooser.h"
#include "runtime/loaded_policy.h"
#include "runtime/resident_table.h"

namespace gemmsmith::runtime {

class PolicyChooser {
 public:
  // Problems that are remembered, in sets of kWays; the oldest of a set makes room.
  static constexpr std::size_t kSets = 256;
  static constexpr std::size_t kWays = 4;

  // All must outlive it; the policy must fit the device. Touches no device.
  PolicyChooser(ResidentTable& resident, DeviceState& device, const LoadedPolicy& policy);

  // What serves a call that the table has no plan for: a kernel that is right for its actual sizes,
  // strides and pointers, else cuBLASLt, with `no_plan` as the reason or a later one. Chooses while
  // no stream captures; inside a capture what was chosen before serves. Any number of threads.
  Choice choose(const Call& call, Rejection no_plan);

  // What the policy makes of the problem, for those who ask why.
  plan::Evidence evidence(const Problem& problem) const { return chooser_.evidence(problem); }

  bool is_of(const ResidentTable& resident, const LoadedPolicy& policy) const {
    return &resident_ == &resident && &policy_ == &policy;
  }

 private:
  // All that a constraint may look at, beside what is the same for every call that comes here.
  struct ProblemKey {
    plan::PlanKey plan;
    std::int64_t lda = 0;
    std::int64_t ldb = 0;
    std::int64_t ldc = 0;
    std::int64_t ldd = 0;
    bool operator==(const ProblemKey&) const = default;
  };
  struct Remembered {
    ProblemKey key;
    bool is_used = false;
    const plan::PlanEntry* entry = nullptr;  // null: cuBLASLt
  };
  struct Set {
    std::array<Remembered, kWays> ways;
    std::size_t oldest = 0;
  };

  static ProblemKey key_of(const Problem& problem);
  Set& set_of(const ProblemKey& key);
  // Whether it was chosen before; `entry` then says what.
  bool find(const ProblemKey& key, const plan::PlanEntry*& entry);
  void remember(const ProblemKey& key, const plan::PlanEntry* entry);
  // The kernel that is to serve, or null; told to the log.
  const plan::PlanEntry* make_choice(const Problem& problem);

  ResidentTable& resident_;
  DeviceState& device_;
  const LoadedPolicy& policy_;
  const plan::KernelChooser chooser_;
  std::mutex mutex_;  // of sets_
  std::array<Set, kSets> sets_;
};

}  // namespace gemmsmith::runtime
