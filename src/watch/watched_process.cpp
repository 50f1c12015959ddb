#include "watch/watched_process.h"

#include <unistd.h>

#include <bit>

namespace gemmsmith::watch {
namespace {

bool is_of(const Shape& shape, const ShapeFacts& facts) {
  return shape.key == facts.key && view(shape.device) == facts.device &&
         view(shape.plan) == facts.plan.substr(0, kTextBytes - 1);
}

void write_facts(Shape& shape, const ShapeFacts& facts) {
  shape.key = facts.key;
  shape.promised_us = facts.promised_us;
  shape.promised_library_us = facts.promised_library_us;
  write_text(shape.device, facts.device);
  write_text(shape.plan, facts.plan);
  shape.alternate_count = 0;
  for (const std::string& alternate : facts.alternates)
    write_text(shape.alternates[shape.alternate_count++], alternate);
}

}  // namespace

Result<WatchedProcess> WatchedProcess::open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
    GEMMSMITH_TRY(Mapping old, Mapping::open(path));
    if (const int other = old.holder(kProcessLock); other != 0)
      return fail(ErrorCode::kBadInput,
                  "{} belongs to process {}: name another file, or write %i for the process's "
                  "number",
                  path.string(), old->header.process);
    if (old->header.process == static_cast<std::uint32_t>(getpid()) && old.lock(kProcessLock))
      return WatchedProcess(std::move(old));
  }
  GEMMSMITH_TRY(Mapping mapping, Mapping::create(path));
  GEMMSMITH_CHECK(mapping.move_to(path));
  return WatchedProcess(std::move(mapping));
}

Shape* WatchedProcess::place_of(const ShapeFacts& facts) {
  for (Shape& shape : mapping_->shapes) {
    std::uint32_t state = shape.state.load(std::memory_order_acquire);
    if (state == kFree && shape.state.compare_exchange_strong(state, kWriting)) {
      write_facts(shape, facts);
      shape.state.store(kReady, std::memory_order_release);
      return &shape;
    }
    // Somebody else's new shape, perhaps this one: they are few and soon whole.
    while (state == kWriting) state = shape.state.load(std::memory_order_acquire);
    if (is_of(shape, facts)) return &shape;
  }
  mapping_->header.left_out.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void tell(Shape& shape, const Timing& timing) {
  const std::uint64_t number = shape.timed.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = shape.ring[number % kRingCells];
  // Whoever sees one of the new values sees the 0 before it, too.
  cell.number.store(0, std::memory_order_relaxed);
  cell.time_ns.store(timing.time_ns, std::memory_order_release);
  cell.packed.store(std::bit_cast<std::uint32_t>(timing.latency_us) |
                        std::uint64_t{timing.serving} << 32 |
                        std::uint64_t{timing.is_probe ? 1U : 0U} << 40,
                    std::memory_order_release);
  cell.number.store(number + 1, std::memory_order_release);
}

}  // namespace gemmsmith::watch
