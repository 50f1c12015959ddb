// One case for each rule: a shape and two configs in which that rule, and none before it, holds.
#include "report/losses.h"

#include <gtest/gtest.h>

#include "report/rows.h"

namespace gemmsmith::report {
namespace {

struct Case {
  const char* cause;
  std::int64_t m, n, k;
  double tuned_us;
  const char* ours;
  const char* theirs;
  double chained = 0.9;
  double foreign = 0.9;
  const char* words = "";  // a part of them
};

// The library's tiles by id: 15 is 64 x 64, 20 is 128 x 128.
class Losses : public testing::TestWithParam<Case> {};

TEST_P(Losses, NameTheFirstRuleThatHolds) {
  const Case& c = GetParam();
  Rows rows;
  rows.shape(c.m, c.n, c.k, c.tuned_us);
  rows.all.back().config = c.theirs;
  rows.final(Kind::kKernel, c.ours, c.chained, c.foreign);
  const auto losses = explain_losses(make_scoreboard(rows.all), *known_target("h200"));
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].cause, c.cause) << losses[0].words;
  EXPECT_EQ(losses[0].theirs, c.theirs);
  EXPECT_NE(losses[0].words.find(c.words), std::string::npos) << losses[0].words;
}

INSTANTIATE_TEST_SUITE_P(
    EachRule, Losses,
    testing::Values(Case{"cold start", 2048, 2048, 512, 10, "sm90_ws:w2.m128.n128",
                         "cublaslt:a66.t20.s35", 1.02, 0.95,
                         "(1.020), behind only between foreign kernels (0.950)"},
                    Case{"long K, few tiles", 512, 512, 16384, 19,
                         "sm90_ws:w2.m128.n128.e1.sp1.sk6", "cublaslt:a66.t20.s35.k8", 0.8, 0.8,
                         "splits it 6 ways"},
                    Case{"idle SMs", 512, 512, 1024, 6, "sm90_ws:w2.m128.n256",
                         "cublaslt:a66.t15.s35", 0.9, 0.9, "8 CTAs for 132 SMs"},
                    Case{"padding", 8192, 1032, 2048, 60, "sm90_ws:w2.m128.n256",
                         "cublaslt:a66.t15.s35", 0.9, 0.9, "compute 24 % more"},
                    Case{"last wave", 2048, 2304, 4096, 60, "sm90_ws:w2.m128.n256",
                         "cublaslt:a66.t20.s35", 0.9, 0.9, "1.09 waves"},
                    Case{"short K", 8192, 8192, 128, 40, "sm90_ws:w2.m128.n128",
                         "cublaslt:a66.t20.s35", 0.9, 0.9, "2 steps through a ring of 4"},
                    Case{"power limit", 8192, 8192, 8192, 1400, "sm90_ws:w2.m128.n128",
                         "cublaslt:a66.t20.s35", 0.98, 0.98, "power-limited rate"},
                    Case{"operand traffic", 8192, 8192, 1024, 250, "sm90_ws:w2.m128.n128",
                         "cublaslt:a66.t20.s35.g3", 0.9, 0.9, "more operand bytes"},
                    Case{"unexplained", 8192, 8192, 1024, 250, "sm90_ws:w2.m128.n128",
                         "cublaslt:a66.t20.s35", 0.9, 0.9, "counters would"}));

TEST(LossList, HoldsWhatIsBehindInEitherSettingTheWorstFirst) {
  Rows rows;
  rows.shape(64, 64, 64).final(Kind::kKernel, "sm90_ws:n8", 1.2, 1.2);
  rows.shape(128, 64, 64).final(Kind::kKernel, "sm90_ws:n8", 0.9, 1.0);
  rows.shape(256, 64, 64).final(Kind::kKernel, "sm90_ws:n8", 1.0, 0.8);
  rows.shape(512, 64, 64);  // nothing of ours was tried
  const Scoreboard board = make_scoreboard(rows.all);
  const auto losses = explain_losses(board, *known_target("h200"));
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(board.shapes[losses[0].shape].problem.m, 256);
  EXPECT_EQ(board.shapes[losses[1].shape].problem.m, 128);
}

TEST(LossList, AConfigOfAnotherVersionIsNoFailure) {
  Rows rows;
  rows.shape(64, 64, 64).final(Kind::kKernel, "sm99_new:q1", 0.5, 0.5);
  const auto losses = explain_losses(make_scoreboard(rows.all), *known_target("h200"));
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].words, "a config of this table is unknown to this version of the program");
}

}  // namespace
}  // namespace gemmsmith::report
