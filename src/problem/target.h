// target.h -- an architecture and its numbers. Constraints, the analytic ranker and the plans see
// a Target only, so they work for a GPU that is not here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

struct Target {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 80, 90
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  int shared_bytes_per_block = 0;  // opt-in maximum of dynamic shared memory
  int shared_bytes_per_sm = 0;
  int registers_per_sm = 65536;
  int max_threads_per_sm = 2048;
  double sm_clock_mhz = 0;        // highest
  double memory_bytes_per_s = 0;  // theoretical peak
  bool operator==(const Target&) const = default;
};

// Published figures of cards that need not be present: "a100", "h100", "h200".
Result<Target> known_target(std::string_view name);

// "sm_90a" for 90, "sm_80" for 80: what NVRTC compiles for. Another capability is refused
// (kUnsupported) with the list of supported ones.
Result<std::string> compile_architecture(int compute_capability);

}  // namespace gemmsmith
