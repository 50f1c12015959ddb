// gemmsmith store plan-table: which winners go into the file.
#include "store/store.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gemmsmith::test
