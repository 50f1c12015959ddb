// Counters beside times that other runs took: which time, which counters, in which order.
#include "report/counted_configs.h"

#include <gtest/gtest.h>

namespace gemmsmith::report {
namespace {

StoredMeasurement timed(Kind kind, const char* config, Stage stage, const char* run, double us) {
  Measurement m;
  m.kind = kind;
  m.config = config;
  m.stage = stage;
  m.run = run;
  m.median_us = us;
  m.ratio = 10 / us;
  return {{}, "", m};
}

StoredCounters counted(const char* config, const char* run, double ipc) {
  StoredCounters row;
  row.config = config;
  row.run = run;
  row.values[Counter::kIpc] = ipc;
  return row;
}

TEST(CountedConfigs, ThePlanStandsFirstThenTheFaster) {
  const std::vector<StoredMeasurement> rows = {timed(Kind::kLtTuned, "lt", Stage::kFinal, "1", 10),
                                               timed(Kind::kKernel, "a", Stage::kFinal, "1", 9),
                                               timed(Kind::kKernel, "b", Stage::kFinal, "1", 8)};
  const std::vector<StoredCounters> counters = {counted("lt", "2", 1), counted("unknown", "2", 1),
                                                counted("b", "2", 1), counted("a", "2", 1)};
  Winner winner;
  winner.config = "a";
  const auto configs = counted_configs(counters, rows, winner);
  ASSERT_EQ(configs.size(), 4U);
  EXPECT_EQ(configs[0].counted.config, "a");
  EXPECT_EQ(configs[0].role, Role::kPlan);
  EXPECT_EQ(configs[1].counted.config, "b");
  EXPECT_EQ(configs[1].role, Role::kRival);
  EXPECT_EQ(configs[1].us, 8);
  EXPECT_EQ(configs[1].ratio, 1.25);
  EXPECT_EQ(configs[2].counted.config, "lt");
  EXPECT_EQ(configs[2].role, Role::kLtTuned);
  EXPECT_EQ(configs[3].counted.config, "unknown");
  EXPECT_FALSE(configs[3].us);
}

TEST(CountedConfigs, AFinalTimeIsPreferredAndTheNewestCounts) {
  const std::vector<StoredMeasurement> rows = {
      timed(Kind::kKernel, "a", Stage::kFinal, "1-tune", 9),
      timed(Kind::kKernel, "a", Stage::kFinal, "2-retest", 9.5),
      timed(Kind::kKernel, "a", Stage::kScreen, "3-tune", 7)};
  const std::vector<StoredCounters> counters = {counted("a", "5-count", 2),
                                                counted("a", "4-count", 1)};
  const auto configs = counted_configs(counters, rows, std::nullopt);
  ASSERT_EQ(configs.size(), 1U);
  EXPECT_EQ(configs[0].us, 9.5);
  EXPECT_EQ(configs[0].counted.values[Counter::kIpc], 2);
}

TEST(CountedConfigs, WhatFailedOrRanBetweenOthersIsNoTime) {
  std::vector<StoredMeasurement> rows = {timed(Kind::kKernel, "a", Stage::kFinal, "1", 9),
                                         timed(Kind::kKernel, "a", Stage::kFinal, "1", 8),
                                         timed(Kind::kCublas, "a", Stage::kFinal, "1", 7)};
  rows[0].measurement.status = Status::kWrong;
  rows[1].measurement.setting = Setting::kForeign;
  const std::vector<StoredCounters> counters = {counted("a", "2", 1)};
  EXPECT_FALSE(counted_configs(counters, rows, std::nullopt).at(0).us);
}

TEST(MeasuredConfigs, AreAllThatWereTimedAndNotOnlyCounted) {
  std::vector<StoredMeasurement> rows = {timed(Kind::kLtTuned, "lt", Stage::kFinal, "1", 10),
                                         timed(Kind::kKernel, "a", Stage::kScreen, "1", 9),
                                         timed(Kind::kVendor, "v", Stage::kScreen, "1", 9.5),
                                         timed(Kind::kCublas, "", Stage::kFinal, "1", 11),
                                         timed(Kind::kKernel, "wrong", Stage::kScreen, "1", 1)};
  rows.back().measurement.status = Status::kWrong;
  const std::vector<StoredCounters> counters = {counted("lt", "2", 1)};
  const auto configs = measured_configs(counters, rows, std::nullopt);
  ASSERT_EQ(configs.size(), 3U);
  EXPECT_EQ(configs[0].counted.config, "a");
  EXPECT_EQ(configs[0].us, 9);
  EXPECT_FALSE(configs[0].counted.values[Counter::kIpc]);
  EXPECT_EQ(configs[1].counted.config, "v");
  EXPECT_EQ(configs[1].counted.kind, Kind::kVendor);
  EXPECT_EQ(configs[2].counted.config, "lt");
  EXPECT_EQ(configs[2].counted.values[Counter::kIpc], 1);
}

TEST(Workspace, IsWhatTheLaunchNeeds) {
  Problem problem;
  problem.m = problem.n = 512;
  problem.k = 16384;
  StoredCounters config;
  config.problem = *make_problem(problem);
  const Target target = *known_target("h200");
  constexpr std::int64_t kLimit = 64 << 20;
  config.config = "sm90_ws:w2.m128.n128.s4";
  EXPECT_EQ(workspace_of(config, target, kLimit), 0);
  // Partial sums of eight CTAs, 4 bytes an element, for each of 16 tiles.
  config.config = "sm90_ws:w2.m128.n128.e1.sp2.s6.sk8";
  EXPECT_EQ(workspace_of(config, target, kLimit), 16.0 * 8 * 128 * 128 * 4);
  config.config = "sm90_ws:w2.m128.n128.e1.sp2.s6.sk32.d9";
  EXPECT_FALSE(workspace_of(config, target, kLimit)) << "no such config";
  config.kind = Kind::kVendor;
  config.config = "cublaslt:a66.t20.s35.g3";
  EXPECT_EQ(workspace_of(config, target, kLimit), 0);
  config.config = "cublaslt:a66.t20.s35.k4.r2.g3";
  EXPECT_EQ(workspace_of(config, target, kLimit), kLimit);
}

}  // namespace
}  // namespace gemmsmith::report
