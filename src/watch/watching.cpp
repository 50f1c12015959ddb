#include "watch/watching.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace gemmsmith::watch {
namespace {

bool is_sound(const ShapeKey& key) {
  return key.m > 0 && key.n > 0 && key.k > 0 && key.batch > 0 && key.type <= 2 &&
         key.accumulator <= 2 && key.layout <= 3 && key.epilogue <= 2 && key.fused <= 1 &&
         key.f32_output <= 1;
}

float sound_time(float us) { return std::isfinite(us) && us > 0 ? us : 0; }

// Nothing where the cell is being written, or was overwritten.
std::optional<Timing> read(const Cell& cell, std::uint64_t number) {
  if (cell.number.load(std::memory_order_acquire) != number) return std::nullopt;
  Timing timing;
  timing.time_ns = cell.time_ns.load(std::memory_order_acquire);
  const std::uint64_t packed = cell.packed.load(std::memory_order_acquire);
  if (cell.number.load(std::memory_order_relaxed) != number) return std::nullopt;
  timing.latency_us = std::bit_cast<float>(static_cast<std::uint32_t>(packed));
  timing.serving = packed >> 32 & 0xff;
  timing.is_probe = (packed >> 40 & 1) != 0;
  if (sound_time(timing.latency_us) == 0 || timing.serving >= kServings) return std::nullopt;
  return timing;
}

}  // namespace

Watching::Watching(Mapping mapping)
    : mapping_(std::move(mapping)), seen_(kMostShapes, false), read_(kMostShapes, 0) {}

Result<std::optional<Watching>> Watching::attach(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  GEMMSMITH_TRY(Mapping mapping, Mapping::open(path));
  if (!mapping.lock(kMonitorLock))
    return fail(ErrorCode::kBadInput, "{} is watched by process {} already", path.string(),
                mapping.holder(kMonitorLock));
  Watching watching(std::move(mapping));
  if (!watching.is_live(path)) return std::nullopt;
  // What was timed before is nobody's present. Orders of a monitor that was killed are not ours.
  for (std::size_t i = 0; i < kMostShapes; ++i) {
    watching.read_[i] = watching.mapping_->shapes[i].timed.load(std::memory_order_relaxed);
    watching.mapping_->shapes[i].order.store(0, std::memory_order_relaxed);
  }
  watching.beat();
  return std::optional(std::move(watching));
}

Watching::~Watching() {
  if (mapping_.get() == nullptr) return;
  for (Shape& shape : mapping_->shapes) shape.order.store(0, std::memory_order_relaxed);
}

bool Watching::is_live(const std::filesystem::path& path) const {
  // A process does not see locks of its own.
  const bool is_held =
      mapping_.holder(kProcessLock) != 0 || process() == static_cast<std::uint32_t>(getpid());
  return is_held && mapping_.is_at(path);
}

std::uint64_t Watching::shapes_left_out() const {
  return mapping_->header.left_out.load(std::memory_order_relaxed);
}

void Watching::beat() { mapping_->header.heartbeat_ns.store(now_ns(), std::memory_order_relaxed); }

std::vector<SeenShape> Watching::new_shapes() {
  std::vector<SeenShape> shapes;
  for (std::size_t i = 0; i < kMostShapes; ++i) {
    const Shape& shape = mapping_->shapes[i];
    if (seen_[i] || shape.state.load(std::memory_order_acquire) != kReady) continue;
    seen_[i] = true;
    if (!is_sound(shape.key)) continue;
    SeenShape seen;
    seen.place = i;
    seen.key = shape.key;
    seen.device = view(shape.device);
    seen.plan = view(shape.plan);
    seen.promised_us = sound_time(shape.promised_us);
    seen.promised_library_us = sound_time(shape.promised_library_us);
    for (std::size_t a = 0; a < std::min<std::size_t>(shape.alternate_count, kMostAlternates); ++a)
      seen.alternates.emplace_back(view(shape.alternates[a]));
    shapes.push_back(std::move(seen));
  }
  return shapes;
}

std::vector<Timing> Watching::new_timings(std::size_t place) {
  const Shape& shape = mapping_->shapes[place];
  const std::uint64_t timed = shape.timed.load(std::memory_order_relaxed);
  std::uint64_t first = read_[place];
  if (timed > first + kRingCells) first = timed - kRingCells;
  std::vector<Timing> timings;
  for (; first < timed; ++first) {
    const Cell& cell = shape.ring[first % kRingCells];
    if (const auto timing = read(cell, first + 1)) timings.push_back(*timing);
  }
  read_[place] = std::max(read_[place], timed);
  return timings;
}

std::uint64_t Watching::calls(std::size_t place) const {
  return mapping_->shapes[place].calls.load(std::memory_order_relaxed);
}

void Watching::order(std::size_t place, const Order& order) {
  mapping_->shapes[place].order.store(order.word(), std::memory_order_relaxed);
}

}  // namespace gemmsmith::watch
