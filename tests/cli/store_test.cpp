// gemmsmith store plan-table: which winners go into the file.
#include "store/store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

#include "cli/run_program.h"
#include "device/device_json.h"

namespace gemmsmith::test {
namespace {

Winner winner_of(Problem problem, const std::string& config) {
  problem.m = problem.n = problem.k = 64;
  Winner winner;
  winner.problem = *make_problem(problem);
  winner.config = config;
  winner.chained_us = 3;
  winner.run = "r";
  return winner;
}

// Problems that differ only in scalars or padding share a plan's key: the plainest is kept.
TEST(PlanTable, OfProblemsThatShareAKeyThePlainestIsKept) {
  const std::string folder = fresh_folder();
  const Environment environment{"H200", 2};
  DeviceInfo info;
  info.target = *known_target("h200");
  Problem padded;
  padded.lda = 128;
  Problem halved;  // plans for D = alpha A B are no plans for D = A B
  halved.alpha = 0.5F;
  Problem padded_and_halved = halved;
  padded_and_halved.lda = 128;
  {
    Store store = *Store::open(folder + "/s.db", Store::Mode::kReadWrite);
    ASSERT_TRUE(store.start_run(gemmsmith::Run{"r", environment, "2026-01-31T12:00:00Z", "", 1,
                                               R"({"device":)" + device_to_json(info) + "}"}));
    for (const Winner& winner :
         {winner_of(padded, "cublaslt:a1"), winner_of({}, "cublaslt:a2"),
          winner_of(padded_and_halved, "cublaslt:a3"), winner_of(halved, "cublaslt:a4")})
      ASSERT_TRUE(store.set_winner(environment, winner, {"selected", 1, 1}));
  }
  const std::string file = folder + "/t.plans";
  const ProgramResult result =
      run_program({"store", "plan-table", file, "--store", folder + "/s.db"},
                  {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("left out: the plan of 64_64_64 f16/f32 tn lda=128; that of 64_64_64 "
                            "f16/f32 tn serves it\n"),
            std::string::npos)
      << result.err;
  const std::string bytes = *read_file(file);
  for (const char* kept : {"cublaslt:a2", "cublaslt:a4"})
    EXPECT_NE(bytes.find(kept), std::string::npos) << kept;
  for (const char* left_out : {"cublaslt:a1", "cublaslt:a3"})
    EXPECT_EQ(bytes.find(left_out), std::string::npos) << left_out;
}

// A store of one run on the target.
std::string store_of(const Target& target, const std::vector<Winner>& winners) {
  const std::string path = fresh_folder() + "/s.db";
  const Environment environment{"one", 2};
  DeviceInfo info;
  info.target = target;
  Store store = *Store::open(path, Store::Mode::kReadWrite);
  EXPECT_TRUE(store.start_run(gemmsmith::Run{"r", environment, "2026-01-31T12:00:00Z", "", 1,
                                             R"({"device":)" + device_to_json(info) + "}"}));
  for (const Winner& winner : winners)
    EXPECT_TRUE(store.set_winner(environment, winner, {"selected", 1, 1}));
  return path;
}

ProgramResult make_table(const std::string& store, const std::string& file,
                         const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"store", "plan-table", file, "--store", store};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments, {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
}

// What was measured again counts, that nothing won included; the rest of the older table stays.
TEST(PlanTable, KeepsTheOtherPlansOfTheTableItIsBuiltOnto) {
  const Target h200 = *known_target("h200");
  Problem halved;
  halved.alpha = 0.5F;
  Problem added;
  added.beta = 1;
  const std::string folder = fresh_folder(), old = folder + "/old.plans",
                    file = folder + "/t.plans";
  ASSERT_EQ(
      make_table(store_of(h200, {winner_of({}, "cublaslt:a1"), winner_of(halved, "cublaslt:a2"),
                                 winner_of(added, "cublaslt:a3")}),
                 old)
          .exit_code,
      0);
  const ProgramResult result = make_table(
      store_of(h200, {winner_of({}, ""), winner_of(added, "cublaslt:a4")}), file, {"--onto", old});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string bytes = *read_file(file);
  for (const char* kept : {"cublaslt:a2", "cublaslt:a4"})
    EXPECT_NE(bytes.find(kept), std::string::npos) << kept;
  for (const char* left_out : {"cublaslt:a1", "cublaslt:a3"})
    EXPECT_EQ(bytes.find(left_out), std::string::npos) << left_out;
}

TEST(PlanTable, OfAnotherDeviceIsNotBuiltOnto) {
  const std::string folder = fresh_folder(), old = folder + "/old.plans",
                    file = folder + "/t.plans";
  ASSERT_EQ(
      make_table(store_of(*known_target("a100"), {winner_of({}, "cublaslt:a1")}), old).exit_code,
      0);
  const std::string store = store_of(*known_target("h200"), {winner_of({}, "cublaslt:a2")});
  const ProgramResult result = make_table(store, file, {"--onto", old});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("gemmsmith: --onto " + old + ": it was made on NVIDIA A100, 108 SMs"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("they cannot share a table\n"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(file));
  const ProgramResult exported =
      run_program({"store", "export", folder + "/x", "--store", store, "--onto", old});
  EXPECT_EQ(exported.err, "gemmsmith: store export: --epilogues and --onto are for plan-table\n");
}

class StoreVerb : public testing::Test {
 protected:
  void SetUp() override {
    const Environment environment{"H200", 2};
    Store store = *Store::open(path_, Store::Mode::kReadWrite);
    ASSERT_TRUE(store.start_run(gemmsmith::Run{"r", environment, "2026-01-31T12:00:00Z", "", 1,
                                               R"({"device":)" + device_to_json(info()) + "}"}));
    Measurement row;
    row.problem = winner_of({}, "").problem;
    row.config = "cublaslt:a1";
    row.run = "r";
    row.median_us = row.low_us = row.high_us = row.ratio = row.ratio_low = row.ratio_high = 1;
    const StoredMeasurement stored{environment, "", row};
    ASSERT_TRUE(store.record(environment, {&stored, 1}));
  }
  static DeviceInfo info() {
    DeviceInfo info;
    info.target = *known_target("h200");
    return info;
  }
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "store");
    arguments.insert(arguments.end(), {"--store", path_});
    return run_program(arguments, {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  }

  const std::string folder_ = fresh_folder();
  const std::string path_ = folder_ + "/s.csv";
};

TEST_F(StoreVerb, WritesNothingOverItself) {
  std::filesystem::create_symlink("s.csv", folder_ + "/link.csv");
  std::filesystem::create_hard_link(path_, folder_ + "/hard.csv");
  for (const char* action : {"export", "plan-table", "recording"})
    for (const char* name : {"/s.csv", "/link.csv", "/hard.csv"}) {
      const ProgramResult result = run({action, folder_ + name});
      EXPECT_EQ(result.exit_code, 2) << action << name;
      EXPECT_EQ(result.err, "gemmsmith: " + folder_ + name + " is the store itself (" + path_ +
                                "): name another file\n");
    }
  EXPECT_EQ(run({"show"}).exit_code, 0);
}

TEST_F(StoreVerb, APlanTableWithoutPlansIsRefused) {
  const ProgramResult result = run({"plan-table", folder_ + "/t.plans"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "gemmsmith: " + path_ + " holds no winner of H200: tune first\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/t.plans"));
}

TEST_F(StoreVerb, AnEnvironmentThatMatchesNothingIsNamed) {
  for (const char* action : {"show", "recording", "plan-table"}) {
    const ProgramResult result = run({action, folder_ + "/x.csv", "--environment", "zzz"});
    EXPECT_EQ(result.exit_code, 2) << action;
    EXPECT_EQ(result.err, "gemmsmith: " + path_ + " holds no results of a device matching 'zzz'\n");
  }
  const ProgramResult result = run({"export", folder_ + "/x.jsonl", "--environment", "zzz"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "gemmsmith: store export takes every environment: leave out --environment\n");
}

TEST_F(StoreVerb, ExportsIntoAPipe) {
  const ProgramResult result = run({"export", "/dev/stdout"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("{\"format\":\"gemmsmith-store\""), 0U) << result.out;
}

}  // namespace
}  // namespace gemmsmith::test
