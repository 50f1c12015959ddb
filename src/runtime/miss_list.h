// miss_list.h -- the problems that no plan served, each once: told to the log callback, and with
// GEMMSMITH_RECORD=FILE written as a shape list that `gemmsmith tune` reads.
//
// Noting one costs a hash and takes no lock and no memory, whatever the stream does. Writing
// happens outside of captures only. What is kept is bounded: a server with ever new shapes fills
// the list and goes on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "plan/plan_table.h"
#include "problem/problem.h"

namespace gemmsmith::runtime {

class MissList {
 public:
  static constexpr std::size_t kMost = 4096;

  // `path` empty: nothing is written. "%i" in it stands for the process's number.
  explicit MissList(std::string path);

  // Whether GEMMSMITH_RECORD names a file, as it was at the first call.
  static bool is_recorded_by_process();
  // The process's, with that file. Made (a megabyte) at the first call, which is left to those that
  // have something to note. Never destroyed; the rest is written when the process exits.
  static MissList& of_process();

  // Whether it is the first time, and there was room.
  bool note(const Problem& problem);

  bool is_recording() const { return !path_.empty(); }
  bool has_unwritten() const { return unwritten_.load(std::memory_order_relaxed) > 0; }
  // Appends what is not written yet; leaves it to another thread that is writing. An error text
  // where the file cannot be written, after which nothing more is; "" else.
  std::string write();

 private:
  struct Slot {
    std::atomic<std::uint64_t> identity{0};
    std::atomic<bool> is_ready{false};
    bool is_written = false;  // guarded by mutex_
    Problem problem;
  };

  std::string path_;
  std::array<Slot, 2 * kMost> slots_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::int64_t> unwritten_{0};
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;  // of writing
};

}  // namespace gemmsmith::runtime
