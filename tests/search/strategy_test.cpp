#include "search/strategy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace gemmsmith {
namespace {

// A family of four parameters with eight values each and no constraints.
const Family& toy_family() {
  static const std::vector<int> values = {1, 2, 3, 4, 5, 6, 7, 8};
  static const Family family = {"toy",
                                "",
                                {{"a", "a", Binding::kCompile, 1, values},
                                 {"b", "b", Binding::kCompile, 1, values},
                                 {"c", "c", Binding::kLaunch, 1, values},
                                 {"d", "d", Binding::kLaunch, 1, values}},
                                {},
                                {}};
  return family;
}

// Every third point of the toy space in an order that says nothing about speed.
SearchSpace toy_space() {
  SearchSpace space;
  for (int i = 0; i < 4096; i += 3) {
    const int scattered = i * 1117 % 4096;
    Config config = default_config(toy_family());
    config.values = {1 + scattered % 8, 1 + scattered / 8 % 8, 1 + scattered / 64 % 8,
                     1 + scattered / 512};
    space.configs.push_back(config);
  }
  return space;
}

// Speed falls off from an optimum, with an interaction between a and c.
double speed(const Config& config) {
  const double a = config.at("a") - 6;
  const double b = config.at("b") - 3;
  const double c = config.at("c") - 5;
  const double d = config.at("d") - 2;
  return std::exp(-0.08 * (a * a + b * b + c * c + d * d + 0.8 * a * c));
}

Measurement measured(const Config& config) {
  Measurement result;
  result.config = to_text(config);
  result.ratio = speed(config);
  result.median_us = 10 / result.ratio;
  return result;
}

double best_after(const std::string& name, std::uint64_t seed, int budget) {
  const SearchSpace space = toy_space();
  const auto strategy = *make_strategy(name, space, seed);
  double best = 0;
  for (int left = budget; left > 0;) {
    const auto asked = strategy->ask(std::min(8, left));
    for (const Config& config : asked) {
      best = std::max(best, speed(config));
      strategy->tell(config, measured(config));
    }
    left -= static_cast<int>(asked.size());
  }
  return best;
}

const char* const kStrategies[] = {"random", "evolutionary", "ranked"};

TEST(Strategy, EvolutionaryBeatsRandomAtTheSameBudget) {
  double random = 0;
  double evolutionary = 0;
  int won = 0;
  constexpr int kSeeds = 40;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const double r = best_after("random", seed, 64);
    const double e = best_after("evolutionary", seed, 64);
    random += r / kSeeds;
    evolutionary += e / kSeeds;
    won += e >= r;
  }
  EXPECT_GT(evolutionary, random + 0.05);
  EXPECT_GE(won, kSeeds * 3 / 4);
}

TEST(Strategy, EvolutionaryFindsTheOptimum) {
  const SearchSpace space = toy_space();
  double optimum = 0;
  for (const Config& config : space.configs) optimum = std::max(optimum, speed(config));
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    found += best_after("evolutionary", seed, 160) >= 0.97 * optimum;
  EXPECT_GE(found, 16);
}

RC_GTEST_PROP(Strategy, AsksEachConfigOfTheSpaceOnceAndOnlyThose, (std::uint64_t seed)) {
  SearchSpace space = toy_space();
  space.configs.resize(*rc::gen::inRange<std::size_t>(0, 60));
  const std::string name =
      *rc::gen::elementOf(std::vector<std::string>{"random", "evolutionary", "ranked"});
  const auto strategy = *make_strategy(name, space, seed);
  std::set<std::string> asked;
  while (true) {
    const int count = *rc::gen::inRange(1, 9);
    const auto batch = strategy->ask(count);
    RC_ASSERT(batch.size() <= static_cast<std::size_t>(count));
    if (batch.empty()) break;
    for (const Config& config : batch) {
      RC_ASSERT(asked.insert(to_text(config)).second);
      RC_ASSERT(std::find(space.configs.begin(), space.configs.end(), config) !=
                space.configs.end());
      Measurement result = measured(config);
      if (*rc::gen::arbitrary<bool>()) result.status = Status::kLaunch;
      strategy->tell(config, result);
    }
  }
  RC_ASSERT(asked.size() == space.configs.size());
}

TEST(Strategy, TheSameSeedGivesTheSameSearch) {
  for (const char* name : kStrategies) {
    EXPECT_EQ(best_after(name, 7, 40), best_after(name, 7, 40));
    const SearchSpace space = toy_space();
    const auto first = *make_strategy(name, space, 7);
    const auto second = *make_strategy(name, space, 7);
    for (int round = 0; round < 10; ++round) {
      const auto a = first->ask(5);
      const auto b = second->ask(5);
      ASSERT_EQ(a, b) << name;
      for (const Config& config : a) {
        first->tell(config, measured(config));
        second->tell(config, measured(config));
      }
    }
  }
}

TEST(Strategy, SurvivesASpaceWhereEverythingFails) {
  const SearchSpace space = toy_space();
  const auto strategy = *make_strategy("evolutionary", space, 1);
  std::size_t asked = 0;
  for (auto batch = strategy->ask(16); !batch.empty(); batch = strategy->ask(16)) {
    asked += batch.size();
    for (const Config& config : batch) {
      Measurement result;
      result.status = Status::kTimeout;
      strategy->tell(config, result);
    }
  }
  EXPECT_EQ(asked, space.configs.size());
}

TEST(Strategy, RefusesAnUnknownName) {
  const auto strategy = make_strategy("annealing", toy_space(), 1);
  ASSERT_FALSE(strategy);
  EXPECT_EQ(strategy.error().what,
            "unknown strategy 'annealing': expected random, evolutionary, ranked or policy");
}

// What a table suggests is asked first, in its order, and the rest as without it.
TEST(Strategies, HintsAreAskedFirst) {
  for (const char* name : {"random", "evolutionary", "ranked"})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SearchSpace space = toy_space();
      space.hints = 5;
      const auto strategy = make_strategy(name, space, seed);
      ASSERT_TRUE(strategy) << strategy.error().what;
      std::vector<Config> asked = (*strategy)->ask(3);
      for (Config& config : (*strategy)->ask(9)) asked.push_back(std::move(config));
      ASSERT_GE(asked.size(), 5U);
      for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(asked[i], space.configs[i]) << name << i;
      std::set<std::string> distinct;
      for (const Config& config : asked) distinct.insert(to_text(config));
      EXPECT_EQ(distinct.size(), asked.size()) << name;
      space.hints = 1000;
      EXPECT_EQ((*make_strategy(name, space, seed))->ask(2).front(), space.configs.front()) << name;
    }
}

}  // namespace
}  // namespace gemmsmith
