#include "search/policy_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/analytic_ranker.h"
#include "policy/small_network.h"

namespace gemmsmith {
namespace {

SearchSpace space_of(int configs) {
  Problem problem;
  problem.m = problem.n = problem.k = 512;
  SearchSpace space;
  space.problem = *make_problem(problem);
  space.target = *known_target("h200");
  space.configs = policy::ranked_configs(space.problem, space.target, configs, 3);
  space.budget = configs;
  space.policy = std::make_shared<const policy::Network>(policy::small_network(5));
  return space;
}

Measurement measured(const Config& config, double ratio) {
  Measurement result;
  result.config = to_text(config);
  result.ratio = ratio;
  result.median_us = 10 / ratio;
  return result;
}

TEST(PolicySearch, AsksForEveryConfigOnceInAnyRounds) {
  for (const int round : {1, 3, 8}) {
    const SearchSpace space = space_of(40);
    const auto strategy = make_policy_search(space);
    std::set<std::string> seen;
    for (auto asked = strategy->ask(round); !asked.empty(); asked = strategy->ask(round))
      for (const Config& config : asked) {
        EXPECT_TRUE(seen.insert(to_text(config)).second) << to_text(config);
        strategy->tell(config, measured(config, 1));
      }
    EXPECT_EQ(seen.size(), space.configs.size());
  }
}

// Results of a round may come back late, or never.
TEST(PolicySearch, WhatWasNotToldIsNotAskedAgain) {
  const auto strategy = make_policy_search(space_of(40));
  std::set<std::string> seen;
  for (int i = 0; i < 5; ++i)
    for (const Config& config : strategy->ask(4)) EXPECT_TRUE(seen.insert(to_text(config)).second);
  EXPECT_EQ(seen.size(), 20U);
}

TEST(PolicySearch, FailuresDoNotStopIt) {
  const SearchSpace space = space_of(12);
  const auto strategy = make_policy_search(space);
  std::size_t asked = 0;
  for (auto round = strategy->ask(2); !round.empty(); round = strategy->ask(2))
    for (const Config& config : round) {
      Measurement failed;
      failed.status = Status::kFault;
      strategy->tell(config, failed);
      ++asked;
    }
  EXPECT_EQ(asked, space.configs.size());
}

TEST(PolicySearch, StartsWithTheBestRated) {
  const SearchSpace space = space_of(40);
  policy::Network listwise = *space.policy;
  listwise.adviser.clear();
  std::vector<float> rows(space.configs.size() * policy::feature_count());
  const policy::FeatureRows features(space.problem, space.target);
  for (std::size_t i = 0; i < space.configs.size(); ++i)
    features.fill(space.configs[i],
                  std::span(rows).subspan(i * policy::feature_count(), policy::feature_count()));
  const auto scores = policy::score_rows(listwise, rows).score;
  SearchSpace plain = space;
  plain.policy = std::make_shared<const policy::Network>(listwise);
  const auto best =
      static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  EXPECT_EQ(make_policy_search(plain)->ask(1)[0], space.configs[best]);
}

TEST(PolicySearch, ResultsChangeWhatIsAskedNext) {
  const auto second = [](double ratio) {
    const auto strategy = make_policy_search(space_of(40));
    const Config first = strategy->ask(1)[0];
    strategy->tell(first, measured(first, 1));
    const Config next = strategy->ask(1)[0];
    strategy->tell(next, measured(next, ratio));
    return to_text(strategy->ask(1)[0]);
  };
  EXPECT_NE(second(4), second(0.05));
}

TEST(PolicySearch, ASpaceOfOneAndOfNone) {
  const auto one = make_policy_search(space_of(1));
  EXPECT_EQ(one->ask(8).size(), 1U);
  EXPECT_TRUE(one->ask(8).empty());
  SearchSpace none = space_of(1);
  none.configs.clear();
  EXPECT_TRUE(make_policy_search(none)->ask(8).empty());
}

TEST(PolicySearch, WithoutAPolicyTheNameIsRefused) {
  EXPECT_EQ(make_strategy("policy", SearchSpace{}, 0).error().what,
            "the strategy policy needs a trained policy (--policy FILE)");
}

TEST(PolicySearch, HintsAreAskedFirstWhateverThePolicyPrefers) {
  SearchSpace space = space_of(40);
  space.hints = 3;
  const auto strategy = make_strategy("policy", space, 0);
  ASSERT_TRUE(strategy) << strategy.error().what;
  std::vector<Config> asked = (*strategy)->ask(2);
  for (Config& config : (*strategy)->ask(4)) asked.push_back(std::move(config));
  ASSERT_EQ(asked.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(asked[i], space.configs[i]);
  space.hints = 0;
  EXPECT_NE((*make_strategy("policy", space, 0))->ask(1).front(), space.configs[2]);
}

}  // namespace
}  // namespace gemmsmith
