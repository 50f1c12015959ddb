// Clocks and power where NVML is there; a reason where it is not.
#include "device/nvml.h"

#include <gtest/gtest.h>

#include "device/scoped_environment.h"

namespace gemmsmith {
namespace {

using test::ScopedEnvironment;

constexpr const char* kUuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

TEST(Nvml, SamplesEveryFigure) {
  const ScopedEnvironment library("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER);
  const GpuSample sample = GpuMonitor::open(kUuid).sample();
  EXPECT_EQ(describe(sample),
            "SM 1980 MHz, memory 3201 MHz, 312 W of 700 W, 45 C, throttle sw_power_cap");
}

TEST(Nvml, FiguresThatAGpuLacksAreAbsent) {
  const ScopedEnvironment library("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER);
  const ScopedEnvironment limited("FAKE_NVML_LIMITED", "1");
  const GpuSample sample = GpuMonitor::open(kUuid).sample();
  EXPECT_FALSE(sample.power_w);
  EXPECT_EQ(describe(sample),
            "SM 1980 MHz, memory 3201 MHz, ? W of 700 W, 45 C, throttle sw_power_cap");
}

TEST(Nvml, ComputeProcessesAreCounted) {
  const ScopedEnvironment library("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER);
  EXPECT_EQ(GpuMonitor::open(kUuid).sample().compute_processes, 0);
  const ScopedEnvironment processes("FAKE_NVML_PROCESSES", "3");
  EXPECT_EQ(GpuMonitor::open(kUuid).sample().compute_processes, 3);
}

TEST(Nvml, WithoutTheLibraryTheReasonIsGiven) {
  const ScopedEnvironment library("GEMMSMITH_NVML", "/nowhere/libnvidia-ml.so.1");
  EXPECT_EQ(describe(GpuMonitor::open(kUuid).sample()),
            "unavailable: cannot load NVML: looked for /nowhere/libnvidia-ml.so.1; it comes with "
            "the NVIDIA driver (package libnvidia-ml1)");
  EXPECT_EQ(nvml_driver_version(), "");
}

TEST(Nvml, AnInitFailureIsAReasonToo) {
  const ScopedEnvironment library("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER);
  const ScopedEnvironment failure("FAKE_NVML_INIT", "9");
  EXPECT_EQ(describe(GpuMonitor::open(kUuid).sample()),
            "unavailable: cannot start NVML: as the test planned");
}

TEST(Nvml, UnknownDeviceIsNamed) {
  const ScopedEnvironment library("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER);
  EXPECT_EQ(describe(GpuMonitor::open("GPU-other").sample()),
            "unavailable: NVML does not know the device GPU-other: as the test planned");
}

TEST(Nvml, ThrottleReasonsHaveNames) {
  EXPECT_EQ(throttle_text(0), "none");
  EXPECT_EQ(throttle_text(0x4 | 0x40), "sw_power_cap+hw_thermal_slowdown");
  EXPECT_EQ(throttle_text(0x1000), "0x1000");
}

}  // namespace
}  // namespace gemmsmith
