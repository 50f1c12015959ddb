// gemmsmith eval without a GPU: times from a recording, what a recording cannot tell, and bad
// input.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"
#include "device/device_json.h"
#include "device/recording.h"

namespace gemmsmith::test {
namespace {

using nlohmann::json;

constexpr const char* kShape = "64_4096_64";
constexpr const char* kBest = "sm80_mma:m16.n16.wm1.wn1.s2.g1.r1";
constexpr const char* kOther = "sm80_mma:m16.n16.wm1.wn1.s2.g2.d0";

Measurement row(Kind kind, const char* config, Setting setting, double us, double ratio) {
  Measurement row;
  row.problem = *parse_mnk(kShape, {});
  row.kind = kind;
  row.config = config;
  row.setting = setting;
  row.stage = Stage::kFinal;
  row.run = "r";
  row.median_us = row.low_us = row.high_us = us;
  row.ratio = row.ratio_low = row.ratio_high = ratio;
  return row;
}

// Ours takes 2 us, lt_tuned 3, cuBLAS 6; between foreign kernels ours 2.5 with a ratio of 1.2.
std::string recording() {
  const std::string path = fresh_folder() + "/r.csv";
  const Setting chained = Setting::kChained;
  std::vector<Measurement> rows = {row(Kind::kCublas, "", chained, 6, 0.5),
                                   row(Kind::kCublasAutotune, "", chained, 4, 0.75),
                                   row(Kind::kLtFirst, "cublaslt:a66.t20", chained, 3.75, 0.8),
                                   row(Kind::kLtTuned, "cublaslt:a66.t23", chained, 3, 1),
                                   row(Kind::kKernel, kBest, chained, 2, 1.5),
                                   row(Kind::kKernel, kBest, Setting::kForeign, 2.5, 1.2),
                                   row(Kind::kKernel, kOther, chained, 2.5, 1.2),
                                   row(Kind::kKernel, kOther, Setting::kForeign, 3, 1)};
  DeviceInfo info;
  info.target = *known_target("h200");
  EXPECT_TRUE(write_recording(path, rows));
  EXPECT_TRUE(write_file_atomic(sidecar_path(path), R"({"device":)" + device_to_json(info) + "}"));
  return "recorded:" + path;
}

TEST(Eval, OfflineSetsTheBestRecordedKernelAgainstTheBaselines) {
  const ProgramResult result =
      run_program({"eval", "--mnk", kShape, "--device", recording(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json rows = json::parse(result.out);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0]["who"], "ours");
  EXPECT_EQ(rows[0]["config"], kBest);
  EXPECT_EQ(rows[0]["source"], "recorded");
  EXPECT_EQ(rows[0]["us"], 2.0);
  EXPECT_EQ(rows[0]["foreign_us"], 2.5);
  EXPECT_EQ(rows[0]["norm_check"], "not recorded");
  EXPECT_EQ(rows[0]["fp64_check"], "not recorded");
  EXPECT_TRUE(rows[0]["relative_error"].is_null());
  const char* const baselines[] = {"cublas", "cublas_autotune", "lt_first", "lt_tuned"};
  const double faster[] = {3, 2, 1.875, 1.5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i + 1]["who"], baselines[i]);
    EXPECT_NEAR(rows[i + 1]["ours_faster"].get<double>(), faster[i], 1e-9);
  }
  // Of the baselines between foreign kernels, only the partner of ours is known.
  EXPECT_TRUE(rows[1]["foreign_us"].is_null());
  EXPECT_NEAR(rows[4]["foreign_us"].get<double>(), 3.0, 1e-9);
  EXPECT_NEAR(rows[4]["ours_faster_foreign"].get<double>(), 1.2, 1e-9);
}

TEST(Eval, TheConfigGivenIsTheOneEvaluated) {
  const ProgramResult result =
      run_program({"eval", "--mnk", kShape, "--device", recording(), "--config", kOther, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json ours = json::parse(result.out)[0];
  EXPECT_EQ(ours["config"], kOther);
  EXPECT_EQ(ours["source"], "given");
  EXPECT_EQ(ours["us"], 2.5);
}

TEST(Eval, AConfigWithoutARecordIsABadResultWithALineThatRepeatsIt) {
  const std::string device = recording();
  const ProgramResult result = run_program({"eval", "--mnk", kShape, "--device", device, "--config",
                                            "sm80_mma:m16.n16.wm1.wn1.s2.g1", "--seed", "7"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(
      result.err.find(
          "64_4096_64 sm80_mma:m16.n16.wm1.wn1.s2.g1: launch, no record\n  repeat with: gemmsmith "
          "eval --mode offline --device " +
          device +
          " --mnk 64_4096_64 --type f16 --acc f32 --layout tn "
          "--config sm80_mma:m16.n16.wm1.wn1.s2.g1 --seed 7\n"),
      std::string::npos)
      << result.err;
}

TEST(Eval, AShapeThatWasNotRecordedIsNamed) {
  const ProgramResult result =
      run_program({"eval", "--mnk", "64_4096_128", "--device", recording()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(
                "64_4096_128 f16/f32 tn: the recording does not hold this shape, but one shape "
                "of f16/f32 tn; nearest: 64_4096_64\n"),
            std::string::npos)
      << result.err;
}

TEST(Eval, ServerModeIsRefusedOnARecording) {
  const ProgramResult result =
      run_program({"eval", "--mnk", kShape, "--mode", "server", "--device", recording()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "gemmsmith: --mode server needs a GPU: a recording holds times of single launches, not "
            "latency under load; pass --device cuda:N, or --mode offline\n");
}

TEST(Eval, WithoutAGpuSaysWhatToDo) {
  for (const char* mode : {"offline", "server"}) {
    const ProgramResult result =
        run_program({"eval", "--mnk", kShape, "--mode", mode, "--gpu-device-id", "0"},
                    {{"GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so"}});
    EXPECT_EQ(result.exit_code, 3) << mode;
    EXPECT_NE(result.err.find("/nonexistent/libcuda.so"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(Eval, ZeroSizesAreNothingToDo) {
  for (const char* shape : {"0_64_64", "64_0_64", "64_64_0"}) {
    const ProgramResult result = run_program({"eval", "--mnk", shape, "--mode", "server"});
    EXPECT_EQ(result.exit_code, 0) << shape << result.err;
    EXPECT_EQ(result.err, "nothing to evaluate: every shape has a size of zero\n");
  }
}

struct BadLoad {
  std::vector<std::string> arguments;
  const char* message;
};

class BadLoads : public testing::TestWithParam<BadLoad> {};

TEST_P(BadLoads, AreRefusedByName) {
  std::vector<std::string> arguments = {"eval", "--mnk", kShape};
  const BadLoad& bad = GetParam();
  arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(bad.message), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadLoads,
    testing::Values(
        BadLoad{{"--mode", "burst"}, "burst not in {offline,server}"},
        BadLoad{{"--mode", "server", "--target-qps", "0"}, "--target-qps 0 for --duration 5 s"},
        BadLoad{{"--mode", "server", "--target-qps", "-3"},
                "--target-qps: '-3': expected a number of at least 0"},
        BadLoad{{"--mode", "server", "--duration", "0"}, "--target-qps 100 for --duration 0 s"},
        BadLoad{{"--mode", "server", "--target-qps", "nan"},
                "--target-qps: 'nan': expected a number of at least 0"},
        BadLoad{{"--mode", "server", "--target-qps", "1e9"}, "at most 2e+07 requests in all"},
        BadLoad{{"--mode", "server", "--target-qps", "1", "--duration", "0.5"},
                "less than one request"},
        BadLoad{{"--config", "sm80_mma:m16", "--store", "x.db"}, "--config excludes --store"},
        BadLoad{{"--ranked", "0"}, "--ranked"}));

}  // namespace
}  // namespace gemmsmith::test
