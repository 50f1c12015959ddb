#include "device/nvml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/dynamic_library.h"

namespace gemmsmith {
namespace {

// NVML's C interface as far as it is used; nvml.h is not part of the CUDA headers' wheels.
using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kSensorGpu = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*handle_by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*throttle)(NvmlDevice, unsigned long long*) = nullptr;
  int (*energy)(NvmlDevice, unsigned long long*) = nullptr;  // mJ
  // Asked for the number only, so the list's element type does not matter here.
  int (*compute_processes)(NvmlDevice, unsigned*, void*) = nullptr;
};

Result<Nvml> open_nvml() {
  const char* chosen = std::getenv("GEMMSMITH_NVML");
  const std::string names[] = {chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1"};
  GEMMSMITH_TRY(DynamicLibrary library,
                DynamicLibrary::open(names, "NVML",
                                     "it comes with the NVIDIA driver (package libnvidia-ml1)"));
  library.keep_loaded();
  Nvml nvml;
  GEMMSMITH_CHECK(library.load("nvmlInit_v2", nvml.init));
  GEMMSMITH_CHECK(library.load("nvmlSystemGetDriverVersion", nvml.driver_version));
  GEMMSMITH_CHECK(library.load("nvmlErrorString", nvml.error_string));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetHandleByUUID", nvml.handle_by_uuid));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetClockInfo", nvml.clock));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetPowerUsage", nvml.power));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetTemperature", nvml.temperature));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetTotalEnergyConsumption", nvml.energy));
  GEMMSMITH_CHECK(library.load("nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes));
  if (const int status = nvml.init(); status != kSuccess)
    return fail(ErrorCode::kEnvironment, "cannot start NVML: {}", nvml.error_string(status));
  return nvml;
}

// What `call` writes, scaled; nothing where this GPU does not offer it.
template <class Call>
std::optional<double> read(const Call& call, double scale) {
  unsigned value = 0;
  if (call(&value) != kSuccess) return std::nullopt;
  return value * scale;
}

}  // namespace

struct GpuMonitor::State {
  Nvml nvml;
  NvmlDevice device = nullptr;
  std::string unavailable;
};

GpuMonitor::GpuMonitor(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuMonitor::GpuMonitor(GpuMonitor&&) noexcept = default;
GpuMonitor& GpuMonitor::operator=(GpuMonitor&&) noexcept = default;
GpuMonitor::~GpuMonitor() = default;

GpuMonitor GpuMonitor::open(const std::string& uuid) {
  auto state = std::make_unique<State>();
  const Result<Nvml> nvml = open_nvml();
  if (!nvml) {
    state->unavailable = nvml.error().what;
    return GpuMonitor(std::move(state));
  }
  state->nvml = *nvml;
  if (const int status = nvml->handle_by_uuid(uuid.c_str(), &state->device); status != kSuccess)
    state->unavailable =
        fmt::format("NVML does not know the device {}: {}", uuid, nvml->error_string(status));
  return GpuMonitor(std::move(state));
}

GpuSample GpuMonitor::sample() const {
  GpuSample sample;
  sample.unavailable = state_->unavailable;
  if (!sample.unavailable.empty()) return sample;
  const Nvml& nvml = state_->nvml;
  NvmlDevice device = state_->device;
  const auto clock = [&](unsigned which) {
    return read([&](unsigned* value) { return nvml.clock(device, which, value); }, 1);
  };
  sample.sm_clock_mhz = clock(kClockSm);
  sample.memory_clock_mhz = clock(kClockMemory);
  sample.power_w = read([&](unsigned* value) { return nvml.power(device, value); }, 1e-3);
  sample.power_limit_w =
      read([&](unsigned* value) { return nvml.power_limit(device, value); }, 1e-3);
  sample.temperature_c =
      read([&](unsigned* value) { return nvml.temperature(device, kSensorGpu, value); }, 1);
  if (unsigned long long reasons = 0; nvml.throttle(device, &reasons) == kSuccess)
    sample.throttle_reasons = reasons;
  if (unsigned long long millijoules = 0; nvml.energy(device, &millijoules) == kSuccess)
    sample.energy_j = static_cast<double>(millijoules) * 1e-3;
  // With room for none it succeeds where there is none, and else tells how many there are.
  unsigned processes = 0;
  if (const int status = nvml.compute_processes(device, &processes, nullptr);
      status == kSuccess || status == kInsufficientSize)
    sample.compute_processes = processes;
  return sample;
}

std::string throttle_text(std::uint64_t reasons) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kNames = {{
      {0x1, "idle"},
      {0x2, "application_clocks"},
      {0x4, "sw_power_cap"},
      {0x8, "hw_slowdown"},
      {0x10, "sync_boost"},
      {0x20, "sw_thermal_slowdown"},
      {0x40, "hw_thermal_slowdown"},
      {0x80, "hw_power_brake"},
      {0x100, "display_clocks"},
  }};
  std::vector<std::string> words;
  for (const auto& [bit, word] : kNames) {
    if ((reasons & bit) != 0) words.emplace_back(word);
    reasons &= ~bit;
  }
  if (reasons != 0) words.push_back(fmt::format("0x{:x}", reasons));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, "+"));
}

std::string describe(const GpuSample& sample) {
  if (!sample.unavailable.empty()) return "unavailable: " + sample.unavailable;
  const auto figure = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("?");
  };
  return fmt::format("SM {} MHz, memory {} MHz, {} W of {} W, {} C, throttle {}",
                     figure(sample.sm_clock_mhz), figure(sample.memory_clock_mhz),
                     figure(sample.power_w), figure(sample.power_limit_w),
                     figure(sample.temperature_c),
                     sample.throttle_reasons ? throttle_text(*sample.throttle_reasons) : "?");
}

std::string nvml_driver_version() {
  const Result<Nvml> nvml = open_nvml();
  char text[96] = {};
  if (!nvml || nvml->driver_version(text, sizeof text - 1) != kSuccess) return {};
  return text;
}

}  // namespace gemmsmith
