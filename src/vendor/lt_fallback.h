// lt_fallback.h -- the runtime's last resort: cuBLASLt with its heuristic's first algorithm, for
// problems that nobody tuned.
//
// Descriptors and the chosen algorithm are kept for each problem. A warm call takes no lock and
// allocates nothing: readers walk a fixed table of atomic pointers. A miss takes a mutex, asks the
// heuristic (about 70 us) and publishes the entry. A full table is replaced by an empty one, the
// old one freed once no reader can be inside it, so a server with ever new shapes stays bounded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "vendor/lt_matmul.h"

namespace gemmsmith::vendor {

// Workspace that is made only once it is known how much is needed.
class WorkspaceSource {
 public:
  virtual ~WorkspaceSource() = default;
  virtual std::int64_t limit() const = 0;  // the most that an algorithm may need
  // At least `bytes`, 256-byte aligned, to be used by one launch on the call's stream. Fewer where
  // it cannot be had: then nothing is enqueued.
  virtual Workspace get(std::int64_t bytes) = 0;
};

// What the caller has anyway.
class GivenWorkspace : public WorkspaceSource {
 public:
  explicit GivenWorkspace(const Workspace& workspace) : workspace_(workspace) {}
  std::int64_t limit() const override { return workspace_.bytes; }
  Workspace get(std::int64_t) override { return workspace_; }

 private:
  Workspace workspace_;
};

class LtFallback {
 public:
  explicit LtFallback(std::shared_ptr<const LtHandle> handle, std::size_t capacity = 4096);
  ~LtFallback();
  LtFallback(const LtFallback&) = delete;
  LtFallback& operator=(const LtFallback&) = delete;

  // Enqueues D = alpha op(A) op(B) + beta C. `problem`'s alignment must be that of the pointers;
  // its alpha and beta are ignored. Errors: kUnsupported (no algorithm; empty problem or k = 0),
  // kBadInput (no workspace), kDevice.
  Result<void> run(const Problem& problem, const Extras& extras, const Operands& operands,
                   const Scalars& scalars, WorkspaceSource& workspaces, CUstream stream);
  Result<void> run(const Problem& problem, const Extras& extras, const Operands& operands,
                   const Scalars& scalars, const Workspace& workspace, CUstream stream);
  Result<void> run(const Problem& problem, const Operands& operands, const Scalars& scalars,
                   const Workspace& workspace, CUstream stream) {
    return run(problem, Extras{}, operands, scalars, workspace, stream);
  }

  std::size_t size() const;  // problems remembered now

 private:
  struct Key;
  struct Entry;
  struct Table;
  class Reader;

  // With mutex_ held.
  Result<const Entry*> find_or_insert(const Key& key, std::size_t hash);
  struct Choice;
  Result<Choice> choose(const Key& key) const;
  void free_unread_tables();

  // Readers in the table, counted apart by thread so that they do not share a cache line.
  static constexpr std::size_t kStripes = 16;
  struct alignas(64) Stripe {
    std::atomic<std::int64_t> readers{0};
  };

  std::shared_ptr<const LtHandle> handle_;
  std::size_t capacity_;
  std::array<Stripe, kStripes> stripes_;
  std::atomic<Table*> table_;
  mutable std::mutex mutex_;  // of insertion and freeing
  std::vector<std::unique_ptr<Table>> retired_;
};

}  // namespace gemmsmith::vendor
