#include "report/scoreboard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gemmsmith::report {
namespace {

constexpr const char* kTune = "20260101T000000.000Z-0001-tune";
constexpr const char* kRetest = "20260102T000000.000Z-0002-retest";
constexpr const char* kConfirm = "20260103T000000.000Z-0003-confirm";

class Rows {
 public:
  Rows& shape(std::int64_t m, double lt_tuned_us) {
    problem_ = {};
    problem_.m = m;
    problem_.n = problem_.k = 64;
    problem_ = *make_problem(problem_);
    lt_tuned_us_ = lt_tuned_us;
    for (const auto& [kind, ratio] : {std::pair{Kind::kCublas, 0.8},
                                      {Kind::kCublasAutotune, 0.9},
                                      {Kind::kLtFirst, 0.95},
                                      {Kind::kLtTuned, 1.0}})
      add(kind, kind == Kind::kLtTuned ? "cublaslt:a66" : "", Setting::kChained, ratio, kTune);
    return *this;
  }

  Rows& both(Kind kind, const std::string& config, double chained, double foreign,
             const char* run) {
    add(kind, config, Setting::kChained, chained, run);
    add(kind, config, Setting::kForeign, foreign, run);
    return *this;
  }

  std::vector<Measurement> rows;

 private:
  void add(Kind kind, const std::string& config, Setting setting, double ratio, const char* run) {
    Measurement row;
    row.problem = problem_;
    row.kind = kind;
    row.config = config;
    row.setting = setting;
    row.stage = Stage::kFinal;
    row.run = run;
    row.ratio = ratio;
    row.ratio_low = ratio - 0.002;
    row.ratio_high = ratio + 0.002;
    row.median_us = lt_tuned_us_ / ratio;
    rows.push_back(row);
  }

  Problem problem_;
  double lt_tuned_us_ = 0;
};

TEST(Scoreboard, KeepsRawAndVendorAndServedApart) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "k", 1.2, 1.1, kTune)
      .both(Kind::kVendor, "v", 1.05, 1.05, kTune);
  r.shape(128, 50)
      .both(Kind::kKernel, "k", 0.8, 0.8, kTune)
      .both(Kind::kVendor, "v", 1.3, 1.3, kTune);
  const Scoreboard board = make_scoreboard(r.rows);
  ASSERT_EQ(board.shapes.size(), 2U);
  EXPECT_NEAR(board.overall.raw, std::sqrt(1.2 * 0.8), 1e-9);
  EXPECT_NEAR(board.overall.raw_foreign, std::sqrt(1.1 * 0.8), 1e-9);
  EXPECT_NEAR(board.overall.ours_and_vendor, std::sqrt(1.2 * 1.3), 1e-9);
  EXPECT_NEAR(board.overall.served, std::sqrt(1.2 * 1.3), 1e-9);
  EXPECT_NEAR(board.overall.served_over_cublas, std::sqrt(1.2 * 1.3) / 0.8, 1e-9);
  EXPECT_EQ(board.overall.raw_wins, 1);
  EXPECT_EQ(board.overall.raw_losses, 1);
  EXPECT_EQ(board.shapes[1].served_kind, Kind::kVendor);
  EXPECT_EQ(board.buckets.at(0).second.shapes, 1);
  EXPECT_EQ(board.buckets.at(4).second.shapes, 1);
  EXPECT_EQ(board.not_retested, 2);
}

TEST(Scoreboard, JudgesByTheRetestNotByTheChoice) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "lucky", 1.3, 1.3, kTune)
      .both(Kind::kKernel, "other", 1.2, 1.2, kTune)
      .both(Kind::kKernel, "lucky", 1.05, 1.04, kRetest);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_NEAR(board.overall.raw, 1.05, 1e-9);
  EXPECT_NEAR(board.overall.served, 1.05, 1e-9);
  EXPECT_NEAR(board.overall.served_foreign, 1.04, 1e-9);
  EXPECT_EQ(board.overall.served_wins, 1);
  EXPECT_EQ(board.not_retested, 0);
}

TEST(Scoreboard, EachSettingShowsItsOwnBest) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "flattered", 1.3, 0.9, kTune)
      .both(Kind::kKernel, "steady", 1.1, 1.05, kTune)
      .both(Kind::kVendor, "v", 1.02, 1.08, kTune)
      .both(Kind::kKernel, "flattered", 1.28, 0.91, kRetest)
      .both(Kind::kKernel, "steady", 1.09, 1.04, kRetest)
      .both(Kind::kVendor, "v", 1.03, 1.07, kRetest);
  const Scoreboard board = make_scoreboard(r.rows);
  const ShapeLine& line = board.shapes.at(0);
  EXPECT_EQ(line.raw->config, "flattered");
  EXPECT_EQ(line.raw->foreign_config, "steady");
  EXPECT_NEAR(board.overall.raw, 1.28, 1e-9);
  EXPECT_NEAR(board.overall.raw_foreign, 1.04, 1e-9);
  EXPECT_NEAR(board.overall.ours_and_vendor, 1.28, 1e-9);
  EXPECT_NEAR(board.overall.ours_and_vendor_foreign, 1.07, 1e-9);
  // The steady one serves, and the other behind kernels of ours. A win is one kernel's.
  EXPECT_EQ(line.served.config, "steady");
  EXPECT_EQ(line.follower, "flattered");
  EXPECT_NEAR(board.overall.served, 1.28, 1e-9);
  EXPECT_NEAR(board.overall.served_foreign, 1.04, 1e-9);
  EXPECT_EQ(board.overall.raw_wins, 1);
}

// The luck of the choice must not count: the choosing run says who is best, the re-test how good.
TEST(Scoreboard, WhoIsBestInASettingIsTheChoosingRunsWord) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "a", 1.30, 1.20, kTune)
      .both(Kind::kKernel, "b", 1.29, 1.19, kTune)
      .both(Kind::kKernel, "a", 1.20, 1.10, kRetest)
      .both(Kind::kKernel, "b", 1.25, 1.15, kRetest);
  EXPECT_NEAR(make_scoreboard(r.rows).overall.raw, 1.20, 1e-9);
}

TEST(Scoreboard, APlanThatLostTwiceIsNotServed) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "k", 1.3, 1.3, kTune)
      .both(Kind::kKernel, "k", 0.9, 0.9, kRetest);
  EXPECT_EQ(make_scoreboard(r.rows).overall.served_losses, 1);
  r.both(Kind::kKernel, "k", 0.92, 0.92, kConfirm);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_EQ(board.overall.served, 1);
  EXPECT_EQ(board.overall.served_losses, 0);
  EXPECT_NEAR(board.overall.raw, 0.9, 1e-9);
}

// What serves on a tie is no win, and what is below 1 by less than its interval is no loss.
TEST(Scoreboard, WinsAndLossesGoByTheIntervals) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "k", 1.3, 1.3, kTune)
      .both(Kind::kKernel, "k", 1.005, 1.2, kRetest);
  r.shape(128, 2.5)
      .both(Kind::kKernel, "k", 1.3, 1.3, kTune)
      .both(Kind::kKernel, "k", 0.989, 1.2, kRetest);
  r.shape(192, 2.5)
      .both(Kind::kKernel, "k", 1.3, 1.3, kTune)
      .both(Kind::kKernel, "k", 1.2, 1.2, kRetest);
  for (Measurement& row : r.rows)  // a wide interval around a good median
    if (row.problem.m == 192 && row.run == kRetest) row.ratio_low = 0.99;
  const Scoreboard board = make_scoreboard(r.rows);
  for (const ShapeLine& line : board.shapes) EXPECT_EQ(line.served_kind, Kind::kKernel);
  EXPECT_EQ(board.overall.served_wins, 0);
  EXPECT_EQ(board.overall.served_losses, 0);
  EXPECT_EQ(board.overall.raw_wins, 0);
  EXPECT_EQ(board.overall.raw_losses, 0);
}

// Equal in a recording's digits: the re-test says which of the two was chosen.
TEST(Scoreboard, AmongEqualWinnersTheRetestedOneServes) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "a", 1.2, 1.2, kTune)
      .both(Kind::kKernel, "b", 1.2, 1.2, kTune)
      .both(Kind::kKernel, "b", 1.1, 1.1, kRetest);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_EQ(board.shapes.at(0).served.config, "b");
  EXPECT_NEAR(board.overall.served, 1.1, 1e-9);
  EXPECT_EQ(board.not_retested, 0);
}

TEST(Scoreboard, OnlyATestOfTheServedPlanIsARetest) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "chosen", 1.2, 1.2, kTune)
      .both(Kind::kKernel, "loser", 1.1, 0.9, kTune)
      .both(Kind::kKernel, "loser", 1.1, 0.9, kRetest);
  EXPECT_EQ(make_scoreboard(r.rows).not_retested, 1);
  // Tested before it was chosen again does not count either.
  constexpr const char* kLaterTune = "20260104T000000.000Z-0004-tune";
  r.both(Kind::kKernel, "loser", 1.2, 1.2, kLaterTune);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_EQ(board.shapes.at(0).served.config, "loser");
  EXPECT_NEAR(board.overall.served, 1.2, 1e-9);
  EXPECT_EQ(board.not_retested, 1);
}

TEST(Scoreboard, WithoutAWinnerLtTunedIsServed) {
  Rows r;
  r.shape(64, 7).both(Kind::kKernel, "k", 1.2, 0.99, kTune);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_EQ(board.shapes.at(0).served_kind, Kind::kLtTuned);
  EXPECT_EQ(board.overall.served, 1);
  EXPECT_NEAR(board.overall.raw, 1.2, 1e-9);
  EXPECT_EQ(board.overall.raw_wins, 0);
}

TEST(Scoreboard, IgnoresScreeningAndCountsFailures) {
  Rows r;
  r.shape(64, 7).both(Kind::kKernel, "k", 2, 2, kTune);
  r.rows[4].stage = r.rows[5].stage = Stage::kScreen;
  r.rows[5].status = Status::kWrong;
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_FALSE(board.shapes.at(0).raw);
  EXPECT_EQ(board.failed, 1);
}

TEST(Scoreboard, NothingInGivesAnEmptyBoard) {
  const Scoreboard board = make_scoreboard({});
  EXPECT_TRUE(board.shapes.empty());
  EXPECT_NE(to_text(board).find("0 shapes"), std::string::npos);
}

TEST(Scoreboard, EveryFormCarriesTheFigures) {
  Rows r;
  r.shape(64, 2.5)
      .both(Kind::kKernel, "sm90_ws:n16", 1.25, 1.1, kTune)
      .both(Kind::kKernel, "sm90_ws:n16", 1.25, 1.1, kRetest);
  const Scoreboard board = make_scoreboard(r.rows);
  EXPECT_NE(to_text(board).find("1.250"), std::string::npos);
  EXPECT_NE(to_markdown(board).find("| <3 us | 1 | 1.250 |"), std::string::npos)
      << to_markdown(board);
  const auto json = nlohmann::json::parse(to_json(board));
  EXPECT_NEAR(json["overall"]["raw"].get<double>(), 1.25, 1e-9);
  EXPECT_EQ(json["shapes"][0]["served_kind"], "kernel");
  const std::string csv = to_csv(board);
  EXPECT_NE(csv.find("64,64,64,f16,f32,tn,2.500,0.8000,0.9000,0.9500,sm90_ws:n16,1.2500,1.1000"),
            std::string::npos)
      << csv;
  const auto commas = [](std::string_view line) {
    return std::count(line.begin(), line.end(), ',');
  };
  const std::size_t end = csv.find('\n');
  EXPECT_EQ(commas(csv.substr(0, end)), commas(csv.substr(end + 1)));
}

// A small problem is no faster than an empty kernel; a long one moves its bytes.
TEST(Scoreboard, FloorsAreTheDevicesAndEmptyWhereItIsNotKnown) {
  Rows r;
  r.shape(64, 2.5).shape(1 << 20, 80);
  Scoreboard board = make_scoreboard(r.rows);
  EXPECT_NE(to_csv(board).find(",1,,,\n"), std::string::npos) << to_csv(board);
  add_floors(board, *known_target("h200"), 0.56);
  EXPECT_EQ(board.shapes[0].impossible_floor_us, 0.56);
  EXPECT_EQ(board.shapes[0].expected_floor_us, 0.6);
  EXPECT_GT(board.shapes[1].expected_floor_us, 0.6);
  const std::string csv = to_csv(board);
  EXPECT_NE(csv.find(",batch,impossible_floor_us,expected_floor_us,served_follower\n"),
            std::string::npos);
  EXPECT_NE(csv.find(",1,0.560,0.600,\n"), std::string::npos) << csv;
}

}  // namespace
}  // namespace gemmsmith::report
