// Training and using a policy on the command line, without a GPU and without libtorch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

const std::string kRecording =
    std::string(GEMMSMITH_SOURCE_DIR) + "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";
const std::string kPolicy =
    std::string(GEMMSMITH_SOURCE_DIR) + "/data/policy/h200_f16_f32_tn.policy";

ProgramResult tune(const std::string& policy, const Variables& environment = {}) {
  return run_program({"tune", "--device", "recorded:" + kRecording, "--mnk", "1024_1024_1024",
                      "--store", fresh_folder() + "/a.db", "--policy", policy, "--budget", "4",
                      "--vendor-budget", "4", "--json"},
                     environment);
}

TEST(Policy, ThePolicyTunesWithAHandfulOfMeasurements) {
  const ProgramResult result = tune(kPolicy);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("analytic"), std::string::npos) << result.err;
}

TEST(Policy, ADamagedPolicyIsNamedAndTheAnalyticRankerTakesOver) {
  const std::string folder = fresh_folder();
  std::ofstream(folder + "/short.policy") << "gemmpoli";
  const ProgramResult result = tune(folder + "/short.policy");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(
      result.err.find(folder + "/short.policy: a policy cut short after 8 bytes; copy it again\n"
                               "the analytic ranker takes over\n"),
      std::string::npos)
      << result.err;
}

TEST(Policy, ExplainNamesTheChoiceTheRunnerUpAndReasons) {
  const ProgramResult result =
      run_program({"explain", "--mnk", "64_4096_64", "--policy", kPolicy, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0]["shape"], "64_4096_64");
  EXPECT_NE(rows[0]["chosen"], rows[0]["runner-up"]);
  EXPECT_NE(rows[0]["effect %"].get<double>(), 0);
}

TEST(Policy, ExplainRefusesAnIllegalConfig) {
  const ProgramResult result = run_program(
      {"explain", "--mnk", "64_4096_64", "--policy", kPolicy, "--of", "sm90_ws:w2.m256.n256"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("sm90_ws:w2.m256.n256 is not legal for 64_4096_64"), std::string::npos)
      << result.err;
}

// Only training needs the learner.
TEST(Policy, WithoutTheLearnerAPolicyStillTunesAndTrainSaysWhatToInstall) {
  const Variables none = {{"GEMMSMITH_LEARNER", "/nowhere/learner.so"}};
  EXPECT_EQ(tune(kPolicy, none).exit_code, 0);
  const ProgramResult result = run_program({"train", "--recording", kRecording}, none);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("training needs libtorch: install libtorch-dev"), std::string::npos)
      << result.err;
}

struct BadTraining {
  const char* label;
  std::vector<std::string> arguments;
  const char* error;
};

class BadTrain : public ::testing::TestWithParam<BadTraining> {};

TEST_P(BadTrain, IsBadInput) {
  const ProgramResult result = run_program(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find(GetParam().error), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadTrain,
    ::testing::Values(
        BadTraining{
            "no_recording", {"train", "--recording", "/nowhere/r.csv.zst"}, "/nowhere/r.csv.zst"},
        BadTraining{"hold_out",
                    {"train", "--recording", kRecording, "--hold-out", "most"},
                    "gemmsmith: hold-out 'most': expected none, random:I/N, m=V, n=V, k=V, skinny "
                    "or long_k"},
        BadTraining{"no_config",
                    {"train", "--recording", kRecording, "--config", "/nowhere/t.json"},
                    "/nowhere/t.json"}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(Policy, AnEmptyRecordingTeachesNothing) {
  const std::string folder = fresh_folder();
  std::ofstream(folder + "/empty.csv")
      << "m,n,k,batch,type,acc,layout,kind,config,status,setting,cache,stage,run,median_us,low_us,"
         "high_us,ratio,ratio_low,ratio_high,repeats_us,compile_s\n";
  const ProgramResult result = run_program({"train", "--recording", folder + "/empty.csv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("empty.csv records nothing"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace gemmsmith::test
