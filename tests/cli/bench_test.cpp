// gemmsmith bench and verify without a GPU: whose configs may be named, and the line that repeats
// what went wrong.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"
#include "device/device_json.h"
#include "device/recording.h"

namespace gemmsmith::test {
namespace {

constexpr const char* kOfVendor = "cublaslt:a66.t20";

// Tuned cuBLASLt and one more config of the vendor's.
std::string recording() {
  const Problem problem = *parse_mnk("64_4096_64", {});
  std::vector<Measurement> rows;
  const auto add = [&](Kind kind, const char* config, Setting setting, double ratio) {
    Measurement row;
    row.problem = problem;
    row.kind = kind;
    row.config = config;
    row.setting = setting;
    row.stage = Stage::kFinal;
    row.run = "r";
    row.median_us = row.low_us = row.high_us = 3 / ratio;
    row.ratio = row.ratio_low = row.ratio_high = ratio;
    rows.push_back(row);
  };
  for (const Kind kind : {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst, Kind::kLtTuned})
    add(kind, "", Setting::kChained, 1);
  add(Kind::kVendor, kOfVendor, Setting::kChained, 0.9);
  add(Kind::kVendor, kOfVendor, Setting::kForeign, 0.95);
  const std::string path = fresh_folder() + "/r.csv";
  DeviceInfo info;
  info.target = *known_target("h200");
  EXPECT_TRUE(write_recording(path, rows));
  EXPECT_TRUE(write_file_atomic(sidecar_path(path), R"({"device":)" + device_to_json(info) + "}"));
  return "recorded:" + path;
}

ProgramResult run_on(const std::string& device, const char* verb,
                     const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {verb,         "--device", device, "--mnk",
                                        "64_4096_64", "--seed",   "7"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Bench, TimesAConfigOfTheVendorsByName) {
  const ProgramResult result = run_on(recording(), "bench", {"--config", kOfVendor, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[4]["kind"], "vendor");
  EXPECT_EQ(rows[4]["config"], kOfVendor);
  EXPECT_EQ(rows[4]["ratio"], 0.9);
}

// Ranked configs ended with "launch, no record", each of them.
TEST(Bench, OfARecordingTakesWhatItHas) {
  const std::string device = recording();
  const ProgramResult result = run_on(device, "bench", {"--vendor", "3", "--csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("64_4096_64,vendor," + std::string(kOfVendor) + ",ok"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(result.err,
            device +
                " repeats what was measured on NVIDIA H200, and nothing else: of the 1 shape asked "
                "for it has 1, and of each only the configs that were measured then; for others "
                "pass --device cuda:N\n");
  EXPECT_EQ(run_on(device, "bench", {"--vendor", "3", "--csv", "-q"}).err, "");
}

TEST(Bench, OfARecordingNamesWhatItHasInstead) {
  const ProgramResult result = run_on(recording(), "bench", {"--config", "cublaslt:a66.t23"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("64_4096_64 cublaslt:a66.t23: launch, no record; of this shape the "
                            "recording has, fastest first: " +
                            std::string(kOfVendor) + "\n"),
            std::string::npos)
      << result.err;
}

TEST(Verify, OfARecordingSaysThatItProvesNothing) {
  const std::string device = recording();
  const ProgramResult result = run_program({"verify", "--device", device, "--mnk", "64_4096_128"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            device +
                " repeats what was measured on NVIDIA H200, and nothing else: of the 1 shape asked "
                "for it has 0, and of each only the configs that were measured then; for others "
                "pass --device cuda:N; verify proves nothing there, it repeats what was found when "
                "it was recorded\n"
                "gemmsmith: 64_4096_128 f16/f32 tn: the recording does not hold this shape, but "
                "one shape of f16/f32 tn; nearest: 64_4096_64\n");
}

TEST(Bench, BelowTheRequiredRatioIsOneToRepeat) {
  const std::string device = recording();
  const ProgramResult result = run_on(device, "bench", {"--config", kOfVendor, "--require", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("below the required ratio\n  repeat with: gemmsmith bench --device " +
                            device +
                            " --mnk 64_4096_64 --type f16 --acc f32 --layout tn --config "
                            "cublaslt:a66.t20 --seed 7\n"),
            std::string::npos)
      << result.err;
}

TEST(Bench, AShapeWithoutARecordDoesNotCostTheOthers) {
  const std::string device = recording();
  for (const char* missing_first : {"no", "yes"}) {
    std::vector<std::string> arguments = {"bench",    "--device", device,
                                          "--config", kOfVendor,  "--csv"};
    const bool first = std::string(missing_first) == "yes";
    for (const char* shape : {first ? "1_1_8" : "64_4096_64", first ? "64_4096_64" : "1_1_8"})
      arguments.insert(arguments.end(), {"--mnk", shape});
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << missing_first;
    EXPECT_NE(result.out.find("64_4096_64,vendor,"), std::string::npos) << result.out;
    EXPECT_NE(result.err.find("1 of 2 shapes are done, and printed; not done: 1_1_8\n"),
              std::string::npos)
        << result.err;
  }
}

// No recording has padded problems or a C: a failure that names them all.
TEST(Repeat, TheLineHasEveryFieldOfTheProblem) {
  const std::string device = recording();
  const std::string problem =
      " --device " + device + " --mnk 64_4096_64 --type bf16 --acc f32 --layout nt";
  const std::string rest =
      " --seed 7 --lda 128 --ldb 4100 --ldc 4104 --ldd 4108 --alpha 0.5"
      " --beta 2\n";
  const std::vector<std::string> fields = {"--type",  "bf16", "--layout", "nt",   "--lda", "128",
                                           "--ldb",   "4100", "--ldc",    "4104", "--ldd", "4108",
                                           "--alpha", "0.5",  "--beta",   "2"};
  std::vector<std::string> verify = fields;
  verify.insert(verify.end(), {"--config", kOfVendor});
  const ProgramResult verified = run_on(device, "verify", verify);
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_NE(verified.err.find("repeat with: gemmsmith verify" + problem + " --config " + kOfVendor +
                              rest),
            std::string::npos)
      << verified.err;
  std::vector<std::string> tune = fields;
  tune.insert(tune.end(), {"--store", fresh_folder() + "/s.db"});
  const ProgramResult tuned = run_on(device, "tune", tune);
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_NE(tuned.err.find("repeat with: gemmsmith tune" + problem + rest), std::string::npos)
      << tuned.err;
}

}  // namespace
}  // namespace gemmsmith::test
