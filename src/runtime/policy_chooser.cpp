#include "runtime/policy_chooser.h"

#include "base/hash.h"
#include "runtime/log_sink.h"

namespace gemmsmith::runtime {

PolicyChooser::PolicyChooser(ResidentTable& resident, DeviceState& device,
                             const LoadedPolicy& policy)
    : resident_(resident),
      device_(device),
      policy_(policy),
      chooser_(resident.table().plans(), policy.network(), device.info().target) {}

PolicyChooser::ProblemKey PolicyChooser::key_of(const Problem& problem) {
  return {plan::key_of(problem), problem.lda, problem.ldb, problem.ldc, problem.ldd};
}

PolicyChooser::Set& PolicyChooser::set_of(const ProblemKey& key) {
  static_assert(std::has_unique_object_representations_v<ProblemKey>);
  const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
  return sets_[hash64(bytes) % kSets];
}

bool PolicyChooser::find(const ProblemKey& key, const plan::PlanEntry*& entry) {
  const std::lock_guard lock(mutex_);
  for (const Remembered& one : set_of(key).ways) {
    if (!one.is_used || one.key != key) continue;
    entry = one.entry;
    return true;
  }
  return false;
}

void PolicyChooser::remember(const ProblemKey& key, const plan::PlanEntry* entry) {
  const std::lock_guard lock(mutex_);
  Set& set = set_of(key);
  // Another thread may have chosen meanwhile: the same.
  for (const Remembered& one : set.ways)
    if (one.is_used && one.key == key) return;
  set.ways[set.oldest] = {key, true, entry};
  set.oldest = (set.oldest + 1) % kWays;
}

const plan::PlanEntry* PolicyChooser::make_choice(const Problem& problem) {
  const plan::Evidence evidence = chooser_.evidence(problem);
  const bool is_trusted = evidence.verdict == plan::Evidence::Verdict::kTrusted;
  const plan::PlanEntry* const entry = is_trusted ? chooser_.best_kernel(problem) : nullptr;
  if (!has_log_sink()) return entry;
  const std::string reason =
      is_trusted && entry == nullptr ? "no kernel of the table is legal" : describe(evidence);
  log_to_sink(GEMMSMITH_LOG_HINT,
              entry != nullptr ? fmt::format("{}: the policy chose {}, since {}", describe(problem),
                                             resident_.table().plans().text(*entry), reason)
                               : fmt::format("{}: the policy leaves it to cuBLASLt: {}",
                                             describe(problem), reason));
  return entry;
}

Choice PolicyChooser::choose(const Call& call, Rejection no_plan) {
  Choice choice;
  choice.rejection = no_plan;
  const ProblemKey key = key_of(call.problem);
  const plan::PlanEntry* entry = nullptr;
  if (!find(key, entry)) {
    if (is_capturing(device_.driver(), call.stream)) {
      choice.rejection = Rejection::kCapturingChoice;
      return choice;
    }
    entry = make_choice(call.problem);
    remember(key, entry);
  }
  if (entry == nullptr) return choice;
  Choice chosen = resident_.choose_for_policy(*entry, call);
  if (chosen.source == Source::kKernel || chosen.is_provisional()) return chosen;
  return choice;
}

}  // namespace gemmsmith::runtime
