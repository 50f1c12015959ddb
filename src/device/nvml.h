// nvml.h -- clocks, power, temperature and throttling of a GPU, read through NVML (found at run
// time: GEMMSMITH_NVML, else libnvidia-ml.so.1). Timings mean little without them, but measuring
// goes on where they cannot be had: a sample then says why.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gemmsmith {

// One look at a GPU. A figure the GPU does not offer is absent.
struct GpuSample {
  std::string unavailable;  // why nothing could be read; empty where something could
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> temperature_c;
  std::optional<double> energy_j;  // since the driver was loaded
  std::optional<std::uint64_t> throttle_reasons;  // NVML's bits
  std::optional<double> compute_processes;        // with a context on the GPU, all of them
};

// "sw_power_cap+hw_slowdown"; "none" for 0.
std::string throttle_text(std::uint64_t reasons);
// "SM 1980 MHz, memory 3201 MHz, 312 W of 700 W, 45 C, throttle none"; "unavailable: reason".
std::string describe(const GpuSample& sample);

// Bits that mean the clocks were not the GPU's own choice: thermal, power and hardware slowdown.
constexpr std::uint64_t kThrottleSlowdown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

class GpuMonitor {
 public:
  // By the uuid of DeviceInfo ("GPU-..."). Never fails: samples tell what is missing.
  static GpuMonitor open(const std::string& uuid);
  GpuMonitor(GpuMonitor&&) noexcept;
  GpuMonitor& operator=(GpuMonitor&&) noexcept;
  ~GpuMonitor();

  GpuSample sample() const;

 private:
  struct State;
  explicit GpuMonitor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "580.159.04"; empty where NVML is missing.
std::string nvml_driver_version();

}  // namespace gemmsmith
