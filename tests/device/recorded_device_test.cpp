// The recorded device answers what was recorded, refuses and counts the rest.
#include "device/recorded_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "device/device_json.h"
#include "device/recording.h"

namespace gemmsmith {
namespace {

Problem problem(std::int64_t m) {
  Problem p;
  p.m = m;
  p.n = 64;
  p.k = 64;
  return *make_problem(p);
}

Measurement row(std::int64_t m, Kind kind, const char* config, Stage stage, double median_us) {
  Measurement row;
  row.problem = problem(m);
  row.kind = kind;
  row.config = config;
  row.stage = stage;
  row.median_us = row.low_us = row.high_us = median_us;
  row.ratio = row.ratio_low = row.ratio_high = 1.1;
  row.repeats_us = {median_us, median_us * 1.1, median_us * 0.9};
  return row;
}

RecordedDevice device() {
  std::vector<Measurement> rows = {
      row(64, Kind::kLtTuned, "cublaslt:a66", Stage::kScreen, 3),
      row(64, Kind::kKernel, "sm90_ws:m128", Stage::kScreen, 2),
      row(128, Kind::kKernel, "sm80_mma", Stage::kScreen, 4),
      row(64, Kind::kKernel, "sm80_mma", Stage::kScreen, 5),
      row(64, Kind::kKernel, "sm90_ws:m128", Stage::kScreen, 2.5),
      row(64, Kind::kKernel, "sm90_ws:m128", Stage::kFinal, 2.2),
  };
  rows[3].status = Status::kWrong;
  return RecordedDevice::from_rows(std::move(rows), {}, "{}");
}

TEST(RecordedDevice, ListsProblemsAndConfigsInOrder) {
  const RecordedDevice recorded = device();
  ASSERT_EQ(recorded.problems().size(), 2U);
  EXPECT_EQ(recorded.problems()[0], problem(64));
  EXPECT_EQ(recorded.problems()[1], problem(128));
  EXPECT_EQ(recorded.configs(problem(64), Kind::kKernel, Stage::kScreen, Setting::kChained),
            (std::vector<std::string_view>{"sm90_ws:m128", "sm80_mma"}));
  EXPECT_TRUE(
      recorded.configs(problem(65), Kind::kKernel, Stage::kScreen, Setting::kChained).empty());
}

TEST(RecordedDevice, SaysWhatItHoldsInsteadOfAShape) {
  const RecordedDevice recorded = device();
  EXPECT_TRUE(recorded.holds(problem(64)));
  EXPECT_TRUE(recorded.check_has(problem(64)));
  EXPECT_FALSE(recorded.holds(problem(120)));
  const auto missing = recorded.check_has(problem(120));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(missing.error().what,
            "120_64_64 f16/f32 tn: the recording does not hold this shape, but 2 shapes of f16/f32 "
            "tn; nearest: 128_64_64, 64_64_64");
  Problem bf16 = problem(64);
  bf16.type = DataType::kBf16;
  EXPECT_EQ(recorded.check_has(bf16).error().what,
            "64_64_64 bf16/f32 tn: the recording holds none of its kind, only 2 shapes of f16/f32 "
            "tn");
  Problem padded = problem(64);
  padded.lda = 72;
  EXPECT_NE(recorded.check_has(padded).error().what.find(
                "a recording holds packed matrices with alpha 1 and beta 0 only"),
            std::string::npos);
}

TEST(RecordedDevice, FindsTheNewestRowOfAConfig) {
  const RecordedDevice recorded = device();
  const Measurement* found =
      recorded.find(problem(64), Kind::kKernel, "sm90_ws:m128", Stage::kScreen, Setting::kChained);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->median_us, 2.5);
  EXPECT_EQ(recorded.refusals(), 0);
}

TEST(RecordedDevice, ReplaysFailuresToo) {
  const RecordedDevice recorded = device();
  const Measurement* found =
      recorded.find(problem(64), Kind::kKernel, "sm80_mma", Stage::kScreen, Setting::kChained);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->status, Status::kWrong);
}

TEST(RecordedDevice, FindsABaselineWhateverItsConfig) {
  const RecordedDevice recorded = device();
  const Measurement* found =
      recorded.find_baseline(problem(64), Kind::kLtTuned, Stage::kScreen, Setting::kChained);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->config, "cublaslt:a66");
}

TEST(RecordedDevice, RefusesAndCountsWhatHasNoRecord) {
  const RecordedDevice recorded = device();
  EXPECT_EQ(recorded.find(problem(64), Kind::kKernel, "sm90_ws", Stage::kScreen, Setting::kChained),
            nullptr);
  EXPECT_EQ(
      recorded.find(problem(64), Kind::kKernel, "sm90_ws:m128", Stage::kScreen, Setting::kForeign),
      nullptr);
  EXPECT_EQ(
      recorded.find(problem(65), Kind::kKernel, "sm90_ws:m128", Stage::kScreen, Setting::kChained),
      nullptr);
  EXPECT_EQ(recorded.find_baseline(problem(128), Kind::kLtTuned, Stage::kScreen, Setting::kChained),
            nullptr);
  EXPECT_EQ(recorded.refusals(), 4);
}

TEST(RecordedDevice, PaddedOrScaledProblemsHaveNoRecord) {
  const RecordedDevice recorded = device();
  Problem padded = problem(64);
  padded.lda = 72;
  Problem scaled = problem(64);
  scaled.beta = 1;
  for (const Problem& p : {padded, scaled})
    EXPECT_EQ(recorded.find(p, Kind::kKernel, "sm90_ws:m128", Stage::kScreen, Setting::kChained),
              nullptr);
}

TEST(RecordedDevice, ReplayDrawsFromTheRepeats) {
  const Measurement recorded = row(64, Kind::kKernel, "sm90_ws", Stage::kScreen, 2);
  std::mt19937_64 rng(7);
  for (int i = 0; i < 100; ++i) {
    const Measurement again = RecordedDevice::replay(recorded, rng);
    for (const double value : again.repeats_us)
      EXPECT_NE(std::find(recorded.repeats_us.begin(), recorded.repeats_us.end(), value),
                recorded.repeats_us.end());
    EXPECT_NEAR(again.ratio * again.median_us, recorded.ratio * recorded.median_us, 1e-9);
  }
}

TEST(RecordedDevice, ReplayIsDecidedByTheSeed) {
  const Measurement recorded = row(64, Kind::kKernel, "sm90_ws", Stage::kScreen, 2);
  std::mt19937_64 one(7);
  std::mt19937_64 other(7);
  EXPECT_EQ(RecordedDevice::replay(recorded, one).repeats_us,
            RecordedDevice::replay(recorded, other).repeats_us);
}

TEST(RecordedDevice, OpensARecordingWithItsSidecar) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("gemmsmith_recorded_device_test_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto path = folder / "grid.csv.zst";
  ASSERT_TRUE(write_recording(path, device().rows()));
  EXPECT_FALSE(RecordedDevice::open(path)) << "no sidecar";
  ASSERT_TRUE(write_file_atomic(sidecar_path(path), "{\"protocol\":1}"));
  EXPECT_EQ(RecordedDevice::open(path).error().what,
            (folder / "grid.json").string() +
                ": no member 'device'; it must say which device was recorded");
  DeviceInfo info;
  info.target = *known_target("h200");
  ASSERT_TRUE(write_file_atomic(sidecar_path(path), "{\"device\":" + device_to_json(info) + "}"));
  info.target.sm_count = -132;
  ASSERT_TRUE(write_file_atomic(folder / "grid.json", "{\"device\":" + device_to_json(info) + "}"));
  EXPECT_EQ(RecordedDevice::open(path).error().what,
            (folder / "grid.json").string() + ": device: sm_count = -132: expected 1 to 4096");
  info.target.sm_count = 132;
  ASSERT_TRUE(write_file_atomic(folder / "grid.json", "{\"device\":" + device_to_json(info) + "}"));
  const auto opened = RecordedDevice::open(path);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->info().target.name, "NVIDIA H200");
  EXPECT_EQ(opened->rows().size(), 6U);
  ASSERT_TRUE(write_recording(path, {}));
  EXPECT_EQ(RecordedDevice::open(path).error().what,
            path.string() + " records nothing: it has a header and no row");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gemmsmith
