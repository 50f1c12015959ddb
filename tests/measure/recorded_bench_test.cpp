#include "measure/recorded_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "space/family.h"

namespace gemmsmith {
namespace {

Problem shape(std::int64_t m) {
  Problem problem;
  problem.m = m;
  problem.n = 64;
  problem.k = 64;
  return *make_problem(problem);
}

Config ours(int group) {
  Config config = default_config(sm80_mma_family());
  config.set("group", group);
  return config;
}

Measurement row(Kind kind, std::string config, Stage stage, Setting setting,
                std::vector<double> repeats_us) {
  Measurement row;
  row.problem = shape(64);
  row.kind = kind;
  row.config = std::move(config);
  row.stage = stage;
  row.setting = setting;
  row.run = "r";
  row.median_us = row.low_us = row.high_us = repeats_us.front();
  row.ratio = row.ratio_low = row.ratio_high = 1.5;
  row.repeats_us = std::move(repeats_us);
  row.compile_s = 0.7;
  return row;
}

RecordedBench bench() {
  std::vector<Measurement> rows;
  for (const Kind kind : {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst, Kind::kLtTuned})
    rows.push_back(row(kind, kind == Kind::kLtTuned ? "cublaslt:a66.t20" : "", Stage::kFinal,
                       Setting::kChained, {3}));
  const std::string measured = to_text(ours(1));
  rows.push_back(
      row(Kind::kKernel, measured, Stage::kScreen, Setting::kChained, {2.0, 2.1, 2.2, 2.3}));
  rows.push_back(row(Kind::kKernel, measured, Stage::kScreen, Setting::kForeign, {2.6}));
  rows.push_back(row(Kind::kKernel, measured, Stage::kFinal, Setting::kChained, {2}));
  rows.push_back(row(Kind::kKernel, measured, Stage::kFinal, Setting::kForeign, {4}));
  Measurement hung = row(Kind::kKernel, to_text(ours(2)), Stage::kScreen, Setting::kChained, {0});
  hung.status = Status::kTimeout;
  hung.repeats_us.clear();
  rows.push_back(hung);
  for (const char* text : {"cublaslt:a66.t20.s35", "cublaslt:a66.t23.s35"})
    rows.push_back(row(Kind::kVendor, text, Stage::kScreen, Setting::kChained, {2.5}));
  DeviceInfo info;
  info.target = *known_target("h200");
  return RecordedBench(RecordedDevice::from_rows(std::move(rows), info, R"({"protocol":"p"})"), {});
}

TEST(RecordedBench, GivesTheFourBaselinesInOrder) {
  RecordedBench recorded = bench();
  const auto rows = recorded.baselines(shape(64));
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0].kind, Kind::kCublas);
  EXPECT_EQ((*rows)[1].kind, Kind::kCublasAutotune);
  EXPECT_EQ((*rows)[2].kind, Kind::kLtFirst);
  EXPECT_EQ((*rows)[3].kind, Kind::kLtTuned);
  EXPECT_EQ((*rows)[3].config, "cublaslt:a66.t20");
}

TEST(RecordedBench, AProblemWithoutBaselinesIsAnError) {
  RecordedBench recorded = bench();
  const auto rows = recorded.baselines(shape(128));
  ASSERT_FALSE(rows);
  EXPECT_EQ(
      rows.error().what,
      "128_64_64 f16/f32 tn: the recording does not hold this shape, but one shape of f16/f32 tn; "
      "nearest: 64_64_64");
}

TEST(RecordedBench, ReplaysNoiseCompileTimeAndFailures) {
  RecordedBench recorded = bench();
  const Config configs[] = {ours(1), ours(2)};
  std::set<double> medians;
  for (int i = 0; i < 20; ++i) {
    const auto rows = recorded.screen(shape(64), configs, Setting::kChained);
    ASSERT_TRUE(rows);
    EXPECT_EQ((*rows)[0].status, Status::kOk);
    EXPECT_EQ((*rows)[0].compile_s, 0.7);
    EXPECT_GE((*rows)[0].median_us, 2.0);
    EXPECT_LE((*rows)[0].median_us, 2.3);
    medians.insert((*rows)[0].median_us);
    EXPECT_EQ((*rows)[1].status, Status::kTimeout);
  }
  EXPECT_GT(medians.size(), 1U);
}

// An answer does not depend on what else was asked before it.
TEST(RecordedBench, TheOrderOfQuestionsChangesNoAnswer) {
  const Config wanted[] = {ours(1)};
  RecordedBench first = bench();
  const double alone = first.screen(shape(64), wanted, Setting::kChained)->at(0).median_us;
  RecordedBench second = bench();
  ASSERT_TRUE(second.baselines(shape(64)));
  ASSERT_TRUE(second.finals(shape(64), wanted));
  EXPECT_EQ(second.screen(shape(64), wanted, Setting::kChained)->at(0).median_us, alone);
}

TEST(RecordedBench, FinalsComeInBothSettings) {
  RecordedBench recorded = bench();
  const Config configs[] = {ours(1)};
  const auto rows = recorded.finals(shape(64), configs);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].median_us, 2);
  EXPECT_EQ((*rows)[1].median_us, 4);
}

TEST(RecordedBench, ScreensBetweenForeignKernelsWhatWasScreenedThere) {
  RecordedBench recorded = bench();
  const Config configs[] = {ours(1), ours(2)};
  const auto rows = recorded.screen(shape(64), configs, Setting::kForeign);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].status, Status::kOk);
  EXPECT_EQ((*rows)[0].setting, Setting::kForeign);
  EXPECT_EQ((*rows)[0].median_us, 2.6);
  EXPECT_EQ((*rows)[1].detail, "no record");
}

TEST(RecordedBench, RefusesAndCountsWhatHasNoRecord) {
  RecordedBench recorded = bench();
  const Config configs[] = {ours(4), ours(1)};
  const auto rows = recorded.screen(shape(64), configs, Setting::kChained);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].status, Status::kLaunch);
  EXPECT_EQ((*rows)[0].detail, "no record");
  EXPECT_EQ((*rows)[1].status, Status::kOk);
  const auto conditions = nlohmann::json::parse(recorded.conditions());
  EXPECT_EQ(conditions["counts"]["no_record"], 1);
  EXPECT_EQ(conditions["recorded"]["protocol"], "p");
}

TEST(RecordedBench, VendorConfigsAreTheRecordedOnes) {
  RecordedBench recorded = bench();
  const auto all = recorded.vendor_configs(shape(64), 24);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(to_text(all->front()), "cublaslt:a66.t20.s35");
  EXPECT_EQ(recorded.vendor_configs(shape(64), 1)->size(), 1U);
}

TEST(OpenBench, NamesWhatADeviceMayBe) {
  const auto unknown = open_bench("rocm:0", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(unknown.error().what,
            "unknown device 'rocm:0': expected cuda:N, recorded:FILE or model:a100|h100|h200");
  for (const char* device : {"cuda:", "cuda:x", "cuda:-1", "cuda:9999999"}) {
    const auto bad = open_bench(device, {});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().what,
              fmt::format("device '{}': expected cuda:N, N a GPU's number", device));
  }
}

}  // namespace
}  // namespace gemmsmith
