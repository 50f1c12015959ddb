#include "runtime/call_cache.h"

namespace gemmsmith::runtime {

CallCache& CallCache::of_thread() {
  // Holds no device resource, so that a thread, or the process, may end at any time.
  thread_local const std::unique_ptr<CallCache> cache = std::make_unique<CallCache>();
  return *cache;
}

}  // namespace gemmsmith::runtime
