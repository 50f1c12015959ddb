#include "runtime/scratch_pool.h"

#include <algorithm>

#include "runtime/device_state.h"

namespace gemmsmith::runtime {

Result<void> ScratchPool::prepare(std::int64_t workspace_bytes) {
  const std::lock_guard lock(mutex_);
  own_bytes_ = std::max(own_bytes_, workspace_bytes);
  if (counters_.size() > 0) return {};
  constexpr std::size_t kCounters = kMostWorkspaces * plan::kMostCounters;
  GEMMSMITH_TRY(DeviceBuffer counters,
                DeviceBuffer::allocate(driver_, kCounters * sizeof(unsigned)));
  // A stream of its own: the default one would wait for others, which may be capturing.
  GEMMSMITH_TRY(const Stream stream, Stream::create(driver_));
  GEMMSMITH_CHECK(check(driver_,
                        driver_.MemsetD32Async(counters.address(), 0, kCounters, stream.get()),
                        "clearing the counters of split-K"));
  GEMMSMITH_CHECK(stream.synchronize());
  counters_ = std::move(counters);
  return {};
}

std::optional<plan::Scratch> ScratchPool::acquire(const vendor::Workspace& workspace,
                                                  std::int64_t bytes, CUstream stream) {
  void* const memory = workspace.bytes >= bytes ? workspace.data : own_workspace(bytes, stream);
  if (memory == nullptr) return std::nullopt;
  unsigned* const counters = counters_of(memory);
  if (counters == nullptr) return std::nullopt;
  return plan::Scratch{memory, counters};
}

unsigned* ScratchPool::counters_of(void* workspace) {
  // Workspaces lie on 256-byte boundaries, allocations far further apart.
  const auto first = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(workspace) >> 8);
  for (std::size_t i = 0; i < kMostWorkspaces; ++i) {
    const std::size_t place = (first + i) % kMostWorkspaces;
    void* found = workspaces_[place].load(std::memory_order_acquire);
    if (found == nullptr &&
        workspaces_[place].compare_exchange_strong(found, workspace, std::memory_order_acq_rel))
      found = workspace;
    if (found == workspace)
      return static_cast<unsigned*>(counters_.pointer()) + place * plan::kMostCounters;
  }
  return nullptr;
}

void* ScratchPool::find_own(std::uint64_t key, std::int64_t bytes) const {
  for (const Own& own : owned_)
    if (own.key.load(std::memory_order_acquire) == key &&
        static_cast<std::int64_t>(own.memory.size()) >= bytes)
      return own.memory.pointer();
  return nullptr;
}

void* ScratchPool::own_workspace(std::int64_t bytes, CUstream stream) {
  if (is_capturing(driver_, stream)) return nullptr;
  // Not the handle, which a new stream may get while an old one's work still runs, and which all
  // threads' default streams share.
  unsigned long long id = 0;
  if (driver_.StreamGetId(stream, &id) != CUDA_SUCCESS) return nullptr;
  const std::uint64_t key = std::uint64_t{id} + 1;
  if (void* const known = find_own(key, bytes); known != nullptr) return known;
  const std::lock_guard lock(mutex_);
  if (void* const known = find_own(key, bytes); known != nullptr) return known;
  for (Own& own : owned_) {
    if (own.key.load(std::memory_order_relaxed) != 0) continue;
    const RelaxedCapture relaxed(driver_);
    auto memory =
        DeviceBuffer::allocate(driver_, static_cast<std::size_t>(std::max(bytes, own_bytes_)));
    if (!memory) return nullptr;
    own.memory = std::move(*memory);
    own.key.store(key, std::memory_order_release);
    return own.memory.pointer();
  }
  return nullptr;
}

}  // namespace gemmsmith::runtime
