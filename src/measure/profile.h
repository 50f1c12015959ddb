// profile.h -- what is known of a launch besides its time: hardware counters, and what it draws
// when it runs on and on. The two come from different runs, neither of which is timed for a
// comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/counters.h"
#include "device/measurement.h"
#include "space/config.h"

namespace gemmsmith {

// Whose launch: a config, ours or the vendor's, or one of cuBLAS's own ways of choosing.
struct Subject {
  Kind kind = Kind::kKernel;
  std::optional<Config> config;  // of kKernel and kVendor
};

// Launches back to back for a fraction of a second. What NVML does not tell is absent.
struct LoadReport {
  Status status = Status::kOk;
  std::string detail;       // why a status is not ok
  std::string unavailable;  // why NVML told nothing; empty where it did
  double us = 0;            // a launch, on the average
  std::int64_t launches = 0;
  std::optional<double> energy_uj;  // a launch
  std::optional<double> power_w;    // by the energy counter, else the mean of samples
  std::optional<double> power_limit_w;
  std::optional<double> sm_clock_mhz;  // median
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;     // the highest
  std::optional<std::uint64_t> throttled;  // NVML's bits, all that were seen
  std::optional<double>
      throttled_share;  // of samples, with a slowdown that was not the GPU's choice
};

struct CounterReport {
  Status status = Status::kOk;
  std::string detail;
  std::string chip;  // CUPTI's name: "GH100"
  int passes = 0;
  int kernels = 0;  // of the launch
  CounterValues values;
};

const char* name(CounterScope scope);  // standard full
Result<CounterScope> parse_counter_scope(std::string_view text);

}  // namespace gemmsmith
