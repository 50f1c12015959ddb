// watched_shape.h -- one planned shape in one context, as a monitor sees it: now and then a call is
// timed by two events of the GPU, and the monitor's order says what serves. With no monitor asked
// for (GEMMSMITH_MONITOR) there is none of it.
//
// Nothing here waits, allocates or takes a lock once the shape is known: a timing is read by a
// later call, and a call that finds another one at it goes on untimed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda.h"
#include "plan/plan_table.h"
#include "watch/watched_process.h"

namespace gemmsmith::runtime {

// The process's shared file. Null where none was asked for, or it was refused: the log says why.
// The same on every call; the first one makes the file.
watch::WatchedProcess* watched_process();
// Why it was refused; "" where it was not. For those who have somewhere to say it.
const std::string& why_not_watched();

class WatchedShape {
 public:
  // Calls of a thread between two looks at the clock, at most.
  static constexpr std::uint32_t kMostStride = 64;
  static constexpr std::uint64_t kSpacingNs = 50'000'000;  // from timing to timing of a shape
  // Of the timings while another plan serves, one in so many is of the plan that was left.
  static constexpr std::uint32_t kProbeEvery = 4;
  // Calls that the probe serves untimed just before, where calls are frequent. A kernel that ran
  // last before hundreds of another's launches finds neither its instructions nor its parameters in
  // the caches, as it did not when the baseline was learnt.
  static constexpr std::uint32_t kWarmUps = 2;

  using Alternates = std::array<const plan::PlanEntry*, watch::kMostAlternates>;

  WatchedShape(const Driver& driver, watch::WatchedProcess& process, watch::Shape& shared,
               const Alternates& alternates, Event begin, Event end)
      : driver_(driver),
        process_(process),
        shared_(shared),
        alternates_(alternates),
        begin_(std::move(begin)),
        end_(std::move(end)) {}

  // All that a call costs that nobody looks at.
  watch::Order order() const {
    return watch::Order::of(shared_.order.load(std::memory_order_relaxed));
  }
  // Null for a serving that is none of them.
  const plan::PlanEntry* alternate(std::uint32_t serving) const {
    return serving >= watch::kFirstAlternate && serving < watch::kServings
               ? alternates_[serving - watch::kFirstAlternate]
               : nullptr;
  }

  // Calls of a thread from look to look, by the time that the last ones took: shapes that are
  // seldom called are looked at each time, others a few times for each timing.
  static std::uint32_t next_stride(std::uint32_t stride, std::uint64_t took_ns) {
    if (took_ns > kSpacingNs) return 1;
    return took_ns < kSpacingNs / 4 && stride < kMostStride ? 2 * stride : stride;
  }

  // A look, after `calls` calls of a thread. What it says about this call:
  struct Look {
    std::uint64_t now_ns = 0;
    bool is_timed = false;  // end_timing() must follow
    bool is_probe = false;  // untimed: a warm-up, and the next call must look again
  };
  Look look(CUstream stream, std::uint32_t calls);
  void end_timing(CUstream stream, std::uint32_t serving, bool is_probe, bool succeeded);

 private:
  // The monitor's orders end with the monitor.
  void lapse(std::uint64_t now);
  // Tells what was timed before, once the GPU is through with it.
  void collect();
  bool begin_timing(CUstream stream);

  const Driver& driver_;
  watch::WatchedProcess& process_;
  watch::Shape& shared_;
  const Alternates alternates_;

  std::atomic<bool> is_busy_{false};  // of everything below
  Event begin_, end_;
  bool is_pending_ = false;
  watch::Timing pending_;
  std::uint64_t last_ns_ = 0;
  std::uint32_t timings_ = 0;  // while another plan serves
  std::uint32_t warm_ups_ = 0;
};

// Those of a context.
class WatchedShapes {
 public:
  explicit WatchedShapes(const Driver& driver) : driver_(driver) {}
  using Alternates = WatchedShape::Alternates;

  // Null where this shape cannot be watched. `make_facts` is asked for a shape that is new. Takes a
  // lock, allocates and creates events: not for warm calls, nor for captures.
  template <class MakeFacts>
  WatchedShape* find_or_make(const watch::ShapeKey& key, const plan::PlanEntry* entry,
                             const MakeFacts& make_facts) {
    watch::WatchedProcess* const process = watched_process();
    if (process == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    auto [place, is_new] = shapes_.try_emplace({entry, key.fused});
    if (is_new) place->second = make(*process, make_facts());
    return place->second.get();
  }

  struct Facts {
    watch::ShapeFacts shared;
    Alternates alternates = {};
    std::vector<std::string> alternate_texts;  // what `shared` points to
  };

 private:
  std::unique_ptr<WatchedShape> make(watch::WatchedProcess& process, const Facts& facts);

  const Driver& driver_;
  std::mutex mutex_;
  // By the entry of a table that lives as long as this, and whether it has an epilogue.
  std::map<std::pair<const plan::PlanEntry*, std::uint8_t>, std::unique_ptr<WatchedShape>> shapes_;
};

}  // namespace gemmsmith::runtime
