// scratch_pool.h -- what kernels that add up through memory need beside a call's operands, in one
// context: counters, a set for each workspace in use, and workspaces of our own for streams whose
// calls bring none. Both only grow, up to a fixed number; a warm call takes no lock and allocates
// nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "device/cuda.h"
#include "plan/launch_plan.h"
#include "vendor/blas_types.h"

namespace gemmsmith::runtime {

class ScratchPool {
 public:
  static constexpr std::size_t kMostWorkspaces = 64;  // ours among them
  static constexpr std::size_t kMostStreams = 16;     // with a workspace of ours

  explicit ScratchPool(const Driver& driver) : driver_(driver) {}

  // Before kernels that need `workspace_bytes` are launched, outside of captures: puts the counters
  // on the device. Errors: kDevice.
  Result<void> prepare(std::int64_t workspace_bytes);

  // For one launch on `stream`: the call's workspace where it has `bytes`, else the stream's own,
  // which its first such call allocates. Nothing where neither can be had: the pool is full, the
  // device is, or the stream captures. (A captured launch may run on any stream later, beside what
  // this one does then; only the caller knows which workspaces are free then.)
  std::optional<plan::Scratch> acquire(const vendor::Workspace& workspace, std::int64_t bytes,
                                       CUstream stream);

 private:
  // Null where all sets are taken.
  unsigned* counters_of(void* workspace);
  // Null where there is none.
  void* own_workspace(std::int64_t bytes, CUstream stream);
  void* find_own(std::uint64_t key, std::int64_t bytes) const;

  struct Own {
    std::atomic<std::uint64_t> key{0};  // the stream's id and 1; written last
    DeviceBuffer memory;
  };

  const Driver& driver_;
  std::mutex mutex_;  // of growing
  DeviceBuffer counters_;
  std::int64_t own_bytes_ = 0;                                    // guarded by mutex_
  std::array<std::atomic<void*>, kMostWorkspaces> workspaces_{};  // whose set is at the same place
  std::array<Own, kMostStreams> owned_;
};

}  // namespace gemmsmith::runtime
