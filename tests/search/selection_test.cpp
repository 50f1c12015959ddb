#include "search/selection.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

struct Figures {
  double ratio = 1;
  double low = 1;
  double high = 1;
};

void add(std::vector<Measurement>& rows, Kind kind, const std::string& config, Figures chained,
         Figures foreign, Status status = Status::kOk) {
  for (const Setting setting : {Setting::kChained, Setting::kForeign}) {
    const Figures& figures = setting == Setting::kChained ? chained : foreign;
    Measurement row;
    row.kind = kind;
    row.config = config;
    row.status = status;
    row.setting = setting;
    row.stage = Stage::kFinal;
    row.median_us = 10 / figures.ratio;
    row.ratio = figures.ratio;
    row.ratio_low = figures.low;
    row.ratio_high = figures.high;
    rows.push_back(row);
  }
}

TEST(Selection, NeedsBothSettings) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "pdl-flattered", {1.20, 1.18, 1.22}, {0.99, 0.98, 1.00});
  EXPECT_FALSE(select(rows).has_value());
  add(rows, Kind::kKernel, "honest", {1.05, 1.04, 1.06}, {1.04, 1.03, 1.05});
  EXPECT_EQ(select(rows)->config, "honest");
}

TEST(Selection, NeedsOnePercentAndAnIntervalAboveOne) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "small-gain", {1.009, 1.008, 1.010}, {1.02, 1.01, 1.03});
  add(rows, Kind::kKernel, "noisy", {1.05, 0.999, 1.10}, {1.05, 1.04, 1.06});
  EXPECT_FALSE(select(rows).has_value());
  add(rows, Kind::kKernel, "just", {1.01, 1.001, 1.02}, {1.01, 1.001, 1.02});
  EXPECT_EQ(select(rows)->config, "just");
}

TEST(Selection, IgnoresFailuresScreeningAndBaselines) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "wrong", {2.0, 1.9, 2.1}, {2.0, 1.9, 2.1}, Status::kWrong);
  add(rows, Kind::kLtTuned, "baseline", {1.5, 1.4, 1.6}, {1.5, 1.4, 1.6});
  add(rows, Kind::kKernel, "screened", {1.5, 1.4, 1.6}, {1.5, 1.4, 1.6});
  rows[4].stage = rows[5].stage = Stage::kScreen;
  EXPECT_FALSE(select(rows).has_value());
}

TEST(Selection, TakesTheBestOfBothSettingsTogether) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "a", {1.30, 1.29, 1.31}, {1.02, 1.011, 1.03});
  add(rows, Kind::kVendor, "b", {1.20, 1.19, 1.21}, {1.20, 1.19, 1.21});
  EXPECT_EQ(select(rows)->config, "b");
}

TEST(Selection, TiesDoNotDependOnTheOrderOfRows) {
  std::vector<Measurement> rows;
  add(rows, Kind::kVendor, "aaa", {1.1, 1.09, 1.11}, {1.1, 1.09, 1.11});
  add(rows, Kind::kKernel, "zzz", {1.1, 1.09, 1.11}, {1.1, 1.09, 1.11});
  add(rows, Kind::kKernel, "yyy", {1.1, 1.09, 1.11}, {1.1, 1.09, 1.11});
  EXPECT_EQ(select(rows)->config, "yyy");
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(select(rows)->config, "yyy");
}

TEST(Selection, LosesOnlyBelowNinetyNinePercentForCertain) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "unsure", {0.97, 0.95, 0.991}, {1.0, 0.99, 1.01});
  add(rows, Kind::kKernel, "lost", {1.1, 1.0, 1.2}, {0.97, 0.95, 0.989});
  add(rows, Kind::kKernel, "broken", {1.1, 1.0, 1.2}, {1.1, 1.0, 1.2}, Status::kFault);
  for (const Finalist& finalist : finalists(rows))
    EXPECT_EQ(lost(finalist), finalist.config != "unsure") << finalist.config;
}

TEST(Selection, BestOfAKindNeedNotWin) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "slow", {0.8, 0.79, 0.81}, {0.8, 0.79, 0.81});
  add(rows, Kind::kKernel, "slower", {0.7, 0.69, 0.71}, {0.7, 0.69, 0.71});
  EXPECT_EQ(best_of(rows, Kind::kKernel)->config, "slow");
  EXPECT_FALSE(best_of(rows, Kind::kVendor).has_value());
}

TEST(Selection, TheBestInOneSettingMayBeBadInTheOther) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "chained", {1.3, 1.2, 1.4}, {0.9, 0.8, 1.0});
  add(rows, Kind::kKernel, "both", {1.15, 1.1, 1.2}, {1.15, 1.1, 1.2});
  add(rows, Kind::kKernel, "foreign", {0.9, 0.8, 1.0}, {1.3, 1.2, 1.4});
  add(rows, Kind::kKernel, "broken", {2, 2, 2}, {2, 2, 2}, Status::kFault);
  EXPECT_EQ(best_in(rows, Kind::kKernel, Setting::kChained)->config, "chained");
  EXPECT_EQ(best_in(rows, Kind::kKernel, Setting::kForeign)->config, "foreign");
  EXPECT_FALSE(best_in(rows, Kind::kVendor, Setting::kChained).has_value());
}

class Follower : public ::testing::Test {
 protected:
  // What was selected.
  static Finalist plan(Kind kind = Kind::kKernel) {
    std::vector<Measurement> rows;
    add(rows, kind, "plan", {1.06, 1.05, 1.07}, {1.06, 1.05, 1.07});
    return *select(rows);
  }
  static std::string follower(const std::vector<Measurement>& rows,
                              const std::vector<Measurement>& tested = {}) {
    const auto found = select_follower(rows, plan(), tested);
    return found ? found->config : "none";
  }
};

TEST_F(Follower, IsTheBestBackToBackAndMayLoseTheOtherSetting) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "plan", {1.06, 1.05, 1.07}, {1.06, 1.05, 1.07});
  EXPECT_EQ(follower(rows), "none") << "the plan is the best itself";
  add(rows, Kind::kVendor, "vendor", {1.9, 1.8, 2.0}, {1.0, 0.9, 1.1});
  EXPECT_EQ(follower(rows), "none") << "the library's kernels do not start early";
  add(rows, Kind::kKernel, "flattered", {1.7, 1.6, 1.8}, {0.97, 0.96, 0.98});
  EXPECT_EQ(follower(rows), "flattered");
  EXPECT_FALSE(select_follower(rows, plan(Kind::kVendor), {}).has_value());
}

// Between foreign kernels the vendor's is better; behind a kernel of ours, ours with its follower
// is.
TEST(Selection, AKernelIsWorthWhatItsFollowerIs) {
  std::vector<Measurement> rows;
  add(rows, Kind::kVendor, "vendor", {1.05, 1.04, 1.06}, {1.06, 1.05, 1.07});
  add(rows, Kind::kKernel, "steady", {1.04, 1.03, 1.05}, {1.02, 1.01, 1.03});
  EXPECT_EQ(select(rows)->config, "vendor");
  add(rows, Kind::kKernel, "flattered", {1.30, 1.29, 1.31}, {0.97, 0.96, 0.98});
  EXPECT_EQ(select(rows)->config, "steady");
  rows.resize(4);
  add(rows, Kind::kKernel, "noisy", {1.30, 0.99, 1.60}, {0.97, 0.96, 0.98});
  EXPECT_EQ(select(rows)->config, "vendor");
}

TEST_F(Follower, GainsOnePercentForCertain) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "little", {1.065, 1.06, 1.07}, {0.97, 0.96, 0.98});
  EXPECT_EQ(follower(rows), "none");
  rows.clear();
  add(rows, Kind::kKernel, "noisy", {1.2, 0.99, 1.3}, {0.97, 0.96, 0.98});
  EXPECT_EQ(follower(rows), "none");
}

TEST_F(Follower, TheLaterTestCounts) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "flattered", {1.7, 1.6, 1.8}, {0.97, 0.96, 0.98});
  std::vector<Measurement> tested;
  add(tested, Kind::kKernel, "flattered", {1.5, 1.4, 1.6}, {0.97, 0.96, 0.98});
  EXPECT_EQ(select_follower(rows, plan(), tested)->chained.ratio, 1.5);
  tested.clear();
  add(tested, Kind::kKernel, "plan", {1.6, 1.5, 1.7}, {1.06, 1.05, 1.07});
  add(tested, Kind::kKernel, "flattered", {1.5, 1.4, 1.6}, {0.97, 0.96, 0.98});
  EXPECT_EQ(follower(rows, tested), "none") << "the plan turned out faster";
  tested.clear();
  add(tested, Kind::kKernel, "plan", {1.06, 1.05, 1.07}, {1.06, 1.05, 1.07});
  EXPECT_EQ(follower(rows, tested), "none") << "not tested";
  tested.clear();
  add(tested, Kind::kKernel, "flattered", {1.5, 1.4, 1.6}, {1, 1, 1}, Status::kFault);
  EXPECT_EQ(follower(rows, tested), "none");
}

using Names = std::vector<std::string>;

TEST(Selection, FinalistsAreTheBestChainedAndTheBestInBoth) {
  const Contender contenders[] = {{"flattered", 1.30, 0.95},
                                  {"flattered too", 1.29, 0.97},
                                  {"steady", 1.08, 1.06},
                                  {"narrow", 1.20, 1.02}};
  EXPECT_EQ(choose_finalists(contenders, 2, true), (Names{"flattered", "narrow"}));
  EXPECT_EQ(choose_finalists(contenders, 3, true), (Names{"flattered", "narrow", "steady"}));
  EXPECT_EQ(choose_finalists(contenders, 1, false), (Names{"narrow"}));
}

TEST(Selection, WhereTheBestChainedIsTheBestInBothTheNextFollows) {
  const Contender contenders[] = {{"best", 1.2, 1.2}, {"loser", 1.15, 0.9}, {"next", 1.1, 1.05}};
  EXPECT_EQ(choose_finalists(contenders, 2, true), (Names{"best", "next"}));
}

TEST(Selection, WhereNobodyWinsBothTheWeakerSettingDecides) {
  const Contender contenders[] = {{"lopsided", 1.3, 0.8}, {"near", 0.99, 0.98}, {"far", 0.9, 0.9}};
  EXPECT_EQ(choose_finalists(contenders, 1, false), (Names{"near"}));
}

TEST(Selection, BehindTheFirstPlaceTheHopelessAreLeftOut) {
  const Contender contenders[] = {{"raw", 1.3, 0.8}, {"hopeless", 1.1, 0.94}};
  EXPECT_EQ(choose_finalists(contenders, 2, true), (Names{"raw"}));
  EXPECT_EQ(choose_finalists(contenders, 2, false), (Names{"hopeless"}));
}

TEST(Selection, FewerContendersThanPlacesAreAllFinalists) {
  const Contender contenders[] = {{"only", 0.5, 0.5}};
  EXPECT_EQ(choose_finalists(contenders, 2, true), (Names{"only"}));
  EXPECT_TRUE(choose_finalists({}, 2, true).empty());
}

TEST(Selection, HalfAFinalistIsNone) {
  std::vector<Measurement> rows;
  add(rows, Kind::kKernel, "half", {1.2, 1.1, 1.3}, {1.2, 1.1, 1.3});
  rows.pop_back();
  EXPECT_TRUE(finalists(rows).empty());
}

}  // namespace
}  // namespace gemmsmith
