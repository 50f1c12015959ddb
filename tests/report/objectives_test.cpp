// Counters as objectives: the front that several span, and what they add up to.
#include "report/objectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <rapidcheck/gtest.h>

namespace gemmsmith::report {
namespace {

Problem small_problem() {
  Problem problem;
  problem.m = problem.n = problem.k = 1024;
  return *make_problem(problem);
}

CountedConfig config_of(double ratio, double l2_hits, double dram = 50) {
  CountedConfig config;
  config.counted.problem = small_problem();
  config.ratio = ratio;
  CounterValues& v = config.counted.values;
  v[Counter::kL2ReadSectors] = 100;
  v[Counter::kL2ReadHits] = l2_hits;
  v[Counter::kL2WriteSectors] = 0;
  v[Counter::kL2WriteHits] = 0;
  v[Counter::kDramPercent] = dram;
  return config;
}

std::vector<std::size_t> front_of(const std::vector<CountedConfig>& configs, const char* wanted) {
  const auto parsed = parse_objectives(wanted);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().what);
  return parsed ? pareto_front(configs, *parsed) : std::vector<std::size_t>{};
}

TEST(Objectives, OneObjectiveLeavesTheBest) {
  const std::vector<CountedConfig> configs = {config_of(1.1, 90), config_of(1.3, 80),
                                              config_of(0.9, 99)};
  EXPECT_EQ(front_of(configs, "time"), (std::vector<std::size_t>{1}));
  EXPECT_EQ(front_of(configs, "l2_hit_rate"), (std::vector<std::size_t>{2}));
}

TEST(Objectives, TheFrontIsWhatNobodyBeats) {
  const std::vector<CountedConfig> configs = {config_of(1.3, 80),   // fastest
                                              config_of(1.2, 85),   // between
                                              config_of(1.1, 85),   // beaten by the one before
                                              config_of(1.0, 95),   // finds most
                                              config_of(0.9, 70)};  // beaten by all
  EXPECT_EQ(front_of(configs, "time,l2_hit_rate"), (std::vector<std::size_t>{0, 1, 3}));
}

TEST(Objectives, EqualsStandBesideEachOther) {
  EXPECT_EQ(front_of({config_of(1.2, 80), config_of(1.2, 80)}, "time,l2_hit_rate"),
            (std::vector<std::size_t>{0, 1}));
}

// Little device-memory throughput is good: the same work in the same time with less traffic.
TEST(Objectives, LessOfDeviceMemoryIsBetter) {
  EXPECT_EQ(front_of({config_of(1.2, 80, 70), config_of(1.2, 80, 40)}, "time,dram_throughput"),
            (std::vector<std::size_t>{1}));
}

TEST(Objectives, WhatIsNotKnownIsNotOnTheFront) {
  std::vector<CountedConfig> configs = {config_of(1.2, 80), config_of(1.5, 80)};
  configs[1].ratio.reset();
  EXPECT_EQ(front_of(configs, "time"), (std::vector<std::size_t>{0}));
  EXPECT_EQ(front_of(configs, "l2_hit_rate"), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(front_of(configs, "bank_conflicts").empty());
}

TEST(Objectives, ARewardAddsUpWeightedTerms) {
  const auto terms = parse_reward("time=1,l2_hit_rate=0.5,dram_throughput=0.25");
  ASSERT_TRUE(terms) << terms.error().what;
  EXPECT_DOUBLE_EQ(*reward(config_of(1.25, 80, 40), *terms),
                   std::log(1.25) + 0.5 * 0.8 - 0.25 * 0.4);
  CountedConfig unknown = config_of(1.25, 80);
  unknown.ratio.reset();
  EXPECT_FALSE(reward(unknown, *terms));
}

TEST(Objectives, TrafficIsHeldAgainstWhatMustMove) {
  const auto terms = parse_reward("dram_bytes=1");
  ASSERT_TRUE(terms);
  CountedConfig config = config_of(1, 80);
  config.counted.values[Counter::kDramReadBytes] = small_problem().min_bytes() * 1.5;
  config.counted.values[Counter::kDramWriteBytes] = small_problem().min_bytes() * 0.5;
  EXPECT_DOUBLE_EQ(*reward(config, *terms), -std::log(2.0));
}

TEST(Objectives, EnergyAndWorkspaceAreBetterTheLessTheyAre) {
  std::vector<CountedConfig> configs = {config_of(1.3, 80), config_of(1.2, 80), config_of(1.1, 80)};
  configs[0].workspace_bytes = 64 << 20;
  configs[1].workspace_bytes = 0;
  configs[2].workspace_bytes = 0;
  EXPECT_EQ(front_of(configs, "time,workspace"), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(front_of(configs, "time,energy").empty()) << "nobody's energy is known";
  configs[0].counted.values.energy_uj = 900;
  configs[2].counted.values.energy_uj = 700;
  EXPECT_EQ(front_of(configs, "time,energy"), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(front_of(configs, "energy"), (std::vector<std::size_t>{2}));
  EXPECT_EQ(front_of(configs, "time,energy,workspace"), (std::vector<std::size_t>{0, 2}));
  const auto terms = parse_reward("energy=1,workspace=2");
  EXPECT_DOUBLE_EQ(*reward(configs[0], *terms), -std::log(900.0) - 2 * std::log(65.0));
  EXPECT_FALSE(reward(configs[1], *terms));
}

TEST(Objectives, WrongListsAreRefusedWithTheirReason) {
  const std::string known =
      "expected time, energy, workspace, l2_hit_rate, sm_throughput, dram_throughput, dram_bytes, "
      "bank_conflicts";
  EXPECT_EQ(parse_objectives("time,warp_speed").error().what,
            "unknown objective 'warp_speed': " + known);
  EXPECT_EQ(parse_objectives("").error().what, "unknown objective '': " + known);
  EXPECT_EQ(parse_objectives("time,").error().what, "unknown objective '': " + known);
  EXPECT_EQ(parse_objectives("ipc").error().what, "unknown objective 'ipc': " + known);
  EXPECT_EQ(parse_objectives("time,time").error().what,
            "objective 'time' is there twice: expected it once");
  EXPECT_EQ(parse_reward("time").error().what,
            "'time': expected an objective and its weight, as time=1");
  EXPECT_EQ(parse_reward("time=fast").error().what, "weight of time: 'fast' is not a number");
  EXPECT_EQ(parse_reward("time=inf").error().what, "weight of time: 'inf' is not a number");
  EXPECT_EQ(parse_reward("time=1,time=2").error().what,
            "objective 'time' is there twice: expected it once");
}

// Nothing on a front is beaten by anything, and what is off it is beaten by something on it.
RC_GTEST_PROP(Objectives, TheFrontBeatsTheRest, ()) {
  const auto pairs = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 6), rc::gen::inRange(0, 6)));
  std::vector<CountedConfig> configs;
  for (const auto& [ratio, hits] : pairs) configs.push_back(config_of(ratio, hits));
  const auto wanted = *parse_objectives("time,l2_hit_rate");
  const auto front = pareto_front(configs, wanted);
  const auto beats = [&](std::size_t a, std::size_t b) {
    return pairs[a].first >= pairs[b].first && pairs[a].second >= pairs[b].second &&
           pairs[a] != pairs[b];
  };
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool is_on = std::find(front.begin(), front.end(), i) != front.end();
    const bool is_beaten =
        std::any_of(front.begin(), front.end(), [&](std::size_t j) { return beats(j, i); });
    RC_ASSERT(is_on != is_beaten);
  }
}

}  // namespace
}  // namespace gemmsmith::report
