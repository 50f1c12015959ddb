// The driver is found at run time, and each way in which it can be missing is told apart.
#include "device/driver.h"

#include <gtest/gtest.h>

#include "device/driver_version.h"
#include "device/scoped_environment.h"

namespace gemmsmith {
namespace {

using test::ScopedEnvironment;

constexpr const char* kFake = GEMMSMITH_FAKE_DRIVER;

std::string error_of(const Result<Driver>& result) {
  return result ? "no error" : result.error().what;
}

TEST(Driver, OpensAndFillsEveryEntryPoint) {
  const Result<Driver> driver = open_driver(kFake);
  ASSERT_TRUE(driver) << driver.error().what;
  EXPECT_NE(driver->TensorMapEncodeTiled, nullptr);
  EXPECT_NE(driver->GetErrorString, nullptr);
}

TEST(Driver, MissingLibraryNamesWhatWasLookedFor) {
  const Result<Driver> driver = open_driver("/nowhere/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(driver.error().what,
            "cannot load the NVIDIA driver: looked for /nowhere/libcuda.so.1; install an NVIDIA "
            "driver for CUDA 12.3 or newer (545.23 or newer), or use --device recorded:FILE, which "
            "needs no GPU");
}

TEST(Driver, NoGpuWhenInitSaysSo) {
  const ScopedEnvironment init("FAKE_CUDA_INIT", "100");
  const Result<Driver> driver = open_driver(kFake);
  EXPECT_EQ(error_of(driver),
            fmt::format("no GPU: the NVIDIA driver ({}) is here but shows no device; check "
                        "nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device recorded:FILE, which "
                        "needs no GPU",
                        kFake));
  EXPECT_EQ(driver.error().code, ErrorCode::kEnvironment);
}

TEST(Driver, NoGpuWhenTheCountIsZero) {
  const ScopedEnvironment devices("FAKE_CUDA_DEVICES", "0");
  EXPECT_EQ(error_of(open_driver(kFake)).substr(0, 7), "no GPU:");
}

TEST(Driver, TooOldDriverNamesBothVersions) {
  const ScopedEnvironment version("FAKE_CUDA_VERSION", "11080");
  const Result<Driver> driver = open_driver(kFake);
  EXPECT_EQ(error_of(driver),
            fmt::format("the NVIDIA driver ({}) supports CUDA 11.8, gemmsmith needs 12.3 or newer: "
                        "update the driver to 545.23 or newer",
                        kFake));
  EXPECT_EQ(driver.error().code, ErrorCode::kEnvironment);
}

TEST(Driver, OldestSupportedVersionIsAccepted) {
  const ScopedEnvironment version("FAKE_CUDA_VERSION", "12030");
  EXPECT_TRUE(open_driver(kFake));
}

TEST(Driver, MissingEntryPointIsNamed) {
  const Result<Driver> driver = open_driver(GEMMSMITH_FAKE_OLD_DRIVER);
  EXPECT_EQ(error_of(driver),
            fmt::format("{} has no cuDeviceGetCount: it is too old; install an NVIDIA driver for "
                        "CUDA 12.3 or newer (545.23 or newer), or use --device recorded:FILE, "
                        "which needs no GPU",
                        GEMMSMITH_FAKE_OLD_DRIVER));
}

TEST(Driver, OtherInitFailuresKeepTheirName) {
  const ScopedEnvironment init("FAKE_CUDA_INIT", "803");
  EXPECT_EQ(error_of(open_driver(kFake)),
            fmt::format("cannot start the NVIDIA driver ({}): CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: "
                        "as the test planned; check that nvidia-smi works",
                        kFake));
}

TEST(Driver, CheckNamesWhatWasBeingDone) {
  const Result<Driver> driver = open_driver(kFake);
  ASSERT_TRUE(driver);
  EXPECT_TRUE(check(*driver, CUDA_SUCCESS, "freeing an operand"));
  const Result<void> failed = check(*driver, CUDA_ERROR_INVALID_VALUE, "freeing an operand");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kDevice);
  EXPECT_EQ(failed.error().what,
            "freeing an operand failed: CUDA_ERROR_INVALID_VALUE: as the test planned");
}

TEST(Driver, ErrorsThatTheDriverDoesNotKnowKeepTheirNumber) {
  const Result<Driver> driver = open_driver(kFake);
  ASSERT_TRUE(driver);
  EXPECT_EQ(describe(*driver, static_cast<CUresult>(555)), "CUDA error 555");
}

TEST(DriverVersion, IsTheFirstDottedNumberOfTheKernelModulesLine) {
  EXPECT_EQ(parse_kernel_module_version(
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Thu Sep 11 2025\n"
                "GCC version:  gcc version 12.3.0\n"),
            "580.159.04");
  EXPECT_EQ(parse_kernel_module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                        "550.54  Release Build  (user@host)\n"),
            "550.54");
}

TEST(DriverVersion, TextWithoutAVersionGivesNone) {
  EXPECT_EQ(parse_kernel_module_version(""), "");
  EXPECT_EQ(parse_kernel_module_version("no number here\nGCC version: 12.3.0\n"), "");
}

}  // namespace
}  // namespace gemmsmith
