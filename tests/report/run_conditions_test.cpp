#include "report/run_conditions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/recording.h"

namespace gemmsmith::report {
namespace {

constexpr const char* kTwoWorkers = R"({"workers":[
  {"problems":3,"empty_kernel_us":0.6,"clocks":{"samples":10,
   "sm_clock_mhz":{"min":1500,"median":1700,"max":1900},
   "power_limit_w":{"min":700,"median":700,"max":700},
   "throttle_samples":{"none":4,"sw_power_cap":5,"sw_thermal_slowdown+sw_power_cap":1}}},
  {"problems":4,"empty_kernel_us":0.5,"clocks":{"samples":20,
   "sm_clock_mhz":{"min":1600,"median":1800,"max":1980}}}]})";

TEST(RunConditions, WorkersOfARunAreOneRun) {
  const auto run = read_conditions(kTwoWorkers);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->problems, 7);
  EXPECT_EQ(run->samples, 30);
  EXPECT_EQ(run->empty_us, 0.5);
  EXPECT_EQ(run->sm_clock_mhz.low, 1500);
  EXPECT_EQ(run->sm_clock_mhz.median, 1800);  // of the worker that sampled more
  EXPECT_EQ(run->sm_clock_mhz.high, 1980);
  EXPECT_EQ(run->power_limit_w, 700);
}

// Heat is the graver of two reasons that hold at once.
TEST(RunConditions, TellsHeatFromThePowerCap) {
  const auto run = read_conditions(kTwoWorkers);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->power_capped, 5);
  EXPECT_EQ(run->heat_throttled, 1);
}

TEST(RunConditions, WhatIsMissingIsNotShown) {
  const auto run = read_conditions(R"({"workers":[{"clocks":{"unavailable":"no NVML"}},7],"x":1})");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->samples, 0);
  EXPECT_EQ(run->power_w.high, 0);
}

TEST(RunConditions, RefusesWhatIsNoObject) {
  EXPECT_EQ(read_conditions("[]").error().what,
            "the conditions of a run is no JSON object: was the file edited?");
  EXPECT_EQ(runs_of_sidecar("{").error().what,
            "the recording's sidecar is no JSON object: was the file edited?");
}

TEST(RunConditions, ARecordingsSidecarNamesItsRuns) {
  const auto sidecar =
      read_sidecar(GEMMSMITH_SOURCE_DIR "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst");
  ASSERT_TRUE(sidecar);
  const auto runs = runs_of_sidecar(*sidecar);
  ASSERT_TRUE(runs) << runs.error().what;
  ASSERT_EQ(runs->size(), 13U);
  EXPECT_EQ(runs->front().id, "20261201T225540.210Z-8bf4-tune");
  EXPECT_EQ(runs->front().samples, 488);
  EXPECT_EQ(runs->front().power_capped, 256);
  EXPECT_NE(runs->front().command.find("gemmsmith tune"), std::string::npos);
}

TEST(RunConditions, AReplaysEmptyKernelIsTheRecordings) {
  const auto run = read_conditions(std::string(R"({"recorded":{"runs":{"a":{"conditions":)") +
                                   kTwoWorkers + R"(},"b":7}},"counts":{}})");
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->empty_us, 0.5);
  EXPECT_EQ(run->samples, 0);
}

TEST(RunConditions, TheShortestEmptyKernelIsOfTheRunsThatMeasuredIt) {
  std::vector<RunConditions> runs(3);
  EXPECT_EQ(smallest_empty_us(runs), 0);
  runs[0].empty_us = 0.58;
  runs[2].empty_us = 0.56;
  EXPECT_EQ(smallest_empty_us(runs), 0.56);
}

RC_GTEST_PROP(RunConditions, AnyTextIsSafe, (const std::string& text)) {
  for (const std::string& json : {text, R"({"runs":{"a":{"conditions":)" + text + "}}}"}) {
    const auto runs = runs_of_sidecar(json);
    if (!runs) RC_ASSERT(!runs.error().what.empty());
  }
}

}  // namespace
}  // namespace gemmsmith::report
