// layout.h -- the file that a watched process and its monitor share: who serves each shape, what it
// promised, the latest timings, and the monitor's orders. Both map it; every field that changes is
// an atomic, so that no look waits for the other side. See docs/monitor.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gemmsmith::watch {

constexpr std::array<char, 8> kMagic = {'g', 'e', 'm', 'm', 'w', 't', 'c', 'h'};
constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kVersion = 1;

constexpr std::size_t kMostShapes = 256;
constexpr std::size_t kRingCells = 16;
constexpr std::size_t kMostAlternates = 3;
constexpr std::size_t kTextBytes = 96;

// What a shape is known by, row-major, as in a plan table's key: layout and types by enumeration,
// alignment classes of two bits each for A, B, C, D from the lowest (0: 16 bytes, 3: 2 bytes).
struct ShapeKey {
  std::int32_t m = 0;
  std::int32_t n = 0;
  std::int32_t k = 0;
  std::int32_t batch = 1;
  std::uint8_t type = 0;
  std::uint8_t accumulator = 0;
  std::uint8_t layout = 0;
  std::uint8_t alignment = 0;
  std::uint8_t epilogue = 0;    // 0: D = A B, 1: D = alpha A B, 2: D = alpha A B + beta C
  std::uint8_t fused = 0;       // 1: with a bias or an activation
  std::uint8_t f32_output = 0;  // 1: C and D are f32
  std::uint8_t reserved = 0;
  bool operator==(const ShapeKey&) const = default;
};

// What a call may be served by: the plan, the library's heuristic, the alternates behind them.
constexpr std::uint32_t kPlan = 0;
constexpr std::uint32_t kLibrary = 1;
constexpr std::uint32_t kFirstAlternate = 2;
constexpr std::uint32_t kServings = kFirstAlternate + kMostAlternates;

// The monitor's word for a shape. 0: its plan serves.
struct Order {
  std::uint32_t serving = kPlan;
  // What a part of the timed calls is served by instead, to see whether it is healthy again; kPlan
  // and `serving` alike mean none but the plan.
  std::uint32_t probe = kPlan;
  static Order of(std::uint32_t word) { return {word & 0xff, word >> 8 & 0xff}; }
  std::uint32_t word() const { return serving | probe << 8; }
};

using Text = std::array<char, kTextBytes>;

// One timed call. Written by whoever timed it, and valid where `number` is the same before and
// after reading the rest.
struct Cell {
  std::atomic<std::uint64_t> number;   // 1 + which timing of the shape it is; 0 while it is written
  std::atomic<std::uint64_t> time_ns;  // when the call was made, CLOCK_MONOTONIC
  std::atomic<std::uint64_t> packed;   // bits of the f32 microseconds; serving << 32; probe << 40
};

enum ShapeState : std::uint32_t { kFree = 0, kWriting = 1, kReady = 2 };

struct alignas(64) Shape {
  // Fixed once the state is kReady.
  std::atomic<std::uint32_t> state;
  ShapeKey key;
  float promised_us;          // by the plan table; 0: nothing was promised
  float promised_library_us;  // lt_tuned's, of the same measurement; 0 as above
  std::uint32_t alternate_count;
  Text device;  // "GPU-...", as NVML has it
  Text plan;    // the config's text
  std::array<Text, kMostAlternates> alternates;
  // Read by each call: alone on its cache line, which seldom changes.
  alignas(64) std::atomic<std::uint32_t> order;  // the monitor's
  alignas(64) std::atomic<std::uint64_t> calls;  // about: each thread adds what it has in steps
  std::atomic<std::uint64_t> timed;
  std::array<Cell, kRingCells> ring;
};

struct Header {
  std::array<char, 8> magic;
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint64_t file_bytes;
  std::uint32_t shape_count;
  std::uint32_t shape_bytes;
  std::uint32_t process;  // its number
  std::uint32_t reserved;
  alignas(64) std::atomic<std::uint64_t> heartbeat_ns;  // the monitor's last, CLOCK_MONOTONIC
  std::atomic<std::uint64_t> left_out;  // shapes that found no place, some of them more than once
};

struct File {
  Header header;
  std::array<Shape, kMostShapes> shapes;
};

static_assert(sizeof(ShapeKey) == 24 && std::has_unique_object_representations_v<ShapeKey>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              sizeof(std::atomic<std::uint64_t>) == 8);
static_assert(sizeof(Header) == 128 && sizeof(Shape) == 1088 && std::is_standard_layout_v<File>);

// Bytes of the file that processes lock: who serves, who monitors. A lock goes with its process.
constexpr long kProcessLock = 0;
constexpr long kMonitorLock = 1;

// Orders of a monitor that was not heard of for so long no longer count.
constexpr std::uint64_t kLapseNs = 10'000'000'000;

}  // namespace gemmsmith::watch
