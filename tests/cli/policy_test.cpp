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

const std::string kPlans = std::string(GEMMSMITH_SOURCE_DIR) + "/data/plans/h200.plans";

TEST(Policy, ExplainSaysWhatATableAndAPolicyServe) {
  const ProgramResult result =
      run_program({"explain", "--mnk", "64_64_64", "--mnk", "112_72_1968", "--mnk", "96_3072_768",
                   "--mnk", "96_3072_766", "--policy", kPolicy, "--plans", kPlans, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["served by"], "plan");
  EXPECT_EQ(rows[0]["config"], "sm90_ws:n32.s2");
  EXPECT_EQ(rows[0]["because"],
            "its plan gained 1.72x back to back, 1.12x between foreign kernels");
  EXPECT_EQ(rows[1]["served by"], "policy");
  EXPECT_EQ(rows[1]["config"], rows[1]["policy's choice"]);
  EXPECT_NE(rows[1]["because"].get<std::string>().find("the 8 nearest plans gained 43.7 %"),
            std::string::npos)
      << rows[1]["because"];
  EXPECT_EQ(rows[2]["served by"], "cublaslt");
  EXPECT_EQ(rows[2]["config"], "");
  EXPECT_NE(rows[2]["policy's choice"], "");
  EXPECT_NE(rows[2]["because"].get<std::string>().find(": 5 % are asked for"), std::string::npos);
  EXPECT_EQ(rows[3]["because"], "the table has fewer than 8 plans for such work");
}

TEST(Policy, ExplainRefusesAnotherTargetsTable) {
  const ProgramResult result = run_program(
      {"explain", "--mnk", "64_64_64", "--policy", kPolicy, "--plans", kPlans, "--target", "a100"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(kPlans + ": made for NVIDIA H200, not for NVIDIA A100; give its "
                                     "--target"),
            std::string::npos)
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
