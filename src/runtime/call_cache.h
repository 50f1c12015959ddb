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
      0;  // of the handle's table and policy: never reused, so a dead handle's entries never match
  const void* context = nullptr;
  gemmsmithProblem_t problem = {};
  std::uint64_t epilogue = 0;  // plan::Epilogue of the scalars
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};
static_assert(sizeof(CallKey) == 56 + sizeof(gemmsmithProblem_t));

// The same for a plan, which fixes problem, context and table.
struct PlanCallKey {
  std::uint64_t epoch = 0;  // of the plan: never reused
  std::uint64_t epilogue = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};
static_assert(sizeof(PlanCallKey) == 48);

// The same for what serves in the plan's place, where a monitor says so or the plan has a follower.
template <class Key>
struct AlternateKey {
  static constexpr std::uint64_t kFollower = ~std::uint64_t{0};

  std::uint64_t epoch = 0;    // the call's
  std::uint64_t serving = 0;  // the monitor's number of it, or kFollower
  Key key;
};
static_assert(sizeof(AlternateKey<CallKey>) == 16 + sizeof(CallKey));

class ResidentTable;

// How a monitor watches the call.
struct CallWatch {
  WatchedShape* shape = nullptr;  // null: it does not
  std::uint32_t until_look = 1;   // calls
  std::uint32_t stride = 1;       // from look to look
  std::uint64_t looked_ns = 0;
};

template <class Key>
struct CachedCall {
  Key key;
  Choice choice;
  DeviceState* device = nullptr;
  ResidentTable* resident = nullptr;  // null: no table
  Problem problem;                    // as in Call
  vendor::Extras extras;
  plan::BoundLaunch bound;
  CallWatch watch;
};

template <class Key>
class CallCache {
 public:
  // This thread's. The first use allocates it.
  static CallCache& of_thread() {
    // Holds no device resource, so that a thread, or the process, may end at any time.
    thread_local const std::unique_ptr<CallCache> cache = std::make_unique<CallCache>();
    return *cache;
  }

  // Null where the call was not seen lately.
  CachedCall<Key>* find(const Key& key) {
    for (CachedCall<Key>& entry : set_of(key))
      if (std::memcmp(&entry.key, &key, sizeof key) == 0) return &entry;
    return nullptr;
  }
  // A place for the key's entry, whose key the caller sets once the rest is whole.
  CachedCall<Key>& make_room(const Key& key) {
    auto& [newest, older] = set_of(key);
    if (newest.key.epoch != 0) older = newest;
    newest.key = Key{};
    return newest;
  }

 private:
  // The newest first.
  using Set = std::array<CachedCall<Key>, 2>;
  Set& set_of(const Key& key) {
    const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
    return sets_[hash64(bytes) % sets_.size()];
  }
  // A model's forward pass calls a few hundred products again and again. A call that was pushed out
  // only costs choosing and encoding the maps anew.
  std::array<Set, 128> sets_;
};

}  // namespace gemmsmith::runtime
