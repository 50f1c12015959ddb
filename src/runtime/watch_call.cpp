// What is told a monitor of a call's shape when the call is new.
#include "runtime/serve.h"

namespace gemmsmith::runtime {
namespace {

watch::ShapeKey key_of(const plan::PlanKey& plan, bool fused) {
  watch::ShapeKey key;
  key.m = plan.m;
  key.n = plan.n;
  key.k = plan.k;
  key.batch = plan.batch;
  key.type = plan.type;
  key.accumulator = plan.accumulator;
  key.layout = plan.layout;
  key.alignment = plan.alignment;
  key.epilogue = plan.epilogue;
  key.fused = fused ? 1 : 0;
  key.f32_output = plan.f32_output;
  return key;
}

}  // namespace

CallWatch watch_call(ResidentTable* resident, DeviceState& device, const Call& call,
                     const Choice& choice, bool& must_ask_again) {
  // Where the library serves already there is nothing to roll back; and a kernel that a policy
  // chose has promised nothing.
  if (watched_process() == nullptr || choice.entry == nullptr || choice.is_of_policy) return {};
  must_ask_again = is_capturing(device.driver(), call.stream);
  if (must_ask_again) return {};
  const plan::PlanEntry& entry = *choice.entry;
  const plan::PlanTable& plans = resident->table().plans();
  const watch::ShapeKey key = key_of(entry.key, call.problem.has_epilogue());
  WatchedShape* const shape = device.watched().find_or_make(key, &entry, [&] {
    WatchedShapes::Facts facts;
    const auto others = resident->alternates_of(entry, call.problem, watch::kMostAlternates);
    std::copy(others.begin(), others.end(), facts.alternates.begin());
    for (const plan::PlanEntry* other : others)
      facts.alternate_texts.emplace_back(plans.text(*other));
    // The ratio is lt_tuned's time over the plan's.
    facts.shared = {key,
                    device.info().uuid,
                    plans.text(entry),
                    entry.expected_us,
                    entry.expected_us * entry.ratio_chained,
                    facts.alternate_texts};
    return facts;
  });
  return {shape};
}

}  // namespace gemmsmith::runtime
