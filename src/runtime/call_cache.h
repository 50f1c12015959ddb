// call_cache.h -- what one thread remembers of its recent calls: what serves them and, for kernels,
// the arguments and tensor maps bound to their pointers. A call seen lately costs one hash and one
// comparison; no lock, no allocation.
#pragma once

#include <array>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "plan/launch_plan.h"
#include "runtime/choice.h"
#include "runtime/device_state.h"

namespace gemmsmith::runtime {

// Everything that a choice and its binding depend on. Compared as bytes: no padding.
struct CallKey {
  std::uint64_t epoch =
      0;  // of the handle's table: never reused, so a dead handle's entries never match
  const void* context = nullptr;
  gemmsmithProblem_t problem = {};
  std::uint64_t reads_c = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};
static_assert(sizeof(CallKey) == 56 + sizeof(gemmsmithProblem_t));

struct CachedCall {
  CallKey key;
  Choice choice;
  DeviceState* device = nullptr;
  Problem problem;  // as in Call
  plan::BoundLaunch bound;
};

class CallCache {
 public:
  // This thread's. The first use allocates it.
  static CallCache& of_thread();

  // The place where the key's entry is, or would be: check with holds().
  CachedCall& slot(const CallKey& key) {
    const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
    return calls_[hash64(bytes) % calls_.size()];
  }
  static bool holds(const CachedCall& slot, const CallKey& key) {
    return std::memcmp(&slot.key, &key, sizeof key) == 0;
  }

 private:
  // A model's forward pass calls a few hundred products again and again. Direct-mapped: a collision
  // only costs choosing and encoding the maps anew.
  std::array<CachedCall, 256> calls_;
};

}  // namespace gemmsmith::runtime
