#include "policy/explanation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "policy/small_network.h"

namespace gemmsmith::policy {
namespace {

std::vector<float> random_row(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> row;
  for (std::size_t i = 0; i < feature_count(); ++i)
    row.push_back(static_cast<float>(random() % 200) / 20);
  return row;
}

RC_GTEST_PROP(Explanation, EffectsAddUpToTheDifferenceOfTheScores, ()) {
  const Network network = small_network(*rc::gen::inRange(0U, 50U), 16);
  const auto ours = random_row(*rc::gen::inRange(0U, 1000U));
  const auto theirs = random_row(*rc::gen::inRange(1000U, 2000U));
  float sum = 0;
  for (const Contribution& contribution : explain(network, ours, theirs))
    sum += contribution.effect;
  const float difference =
      score_rows(network, ours).score[0] - score_rows(network, theirs).score[0];
  RC_ASSERT(std::abs(sum - difference) < 0.01F);
}

TEST(Explanation, OnlyWhatDiffersAndIsLearntIsNamed) {
  Network network = small_network(1);
  network.scale[7] = 0;
  const auto theirs = random_row(1);
  auto ours = theirs;
  ours[5] += 1;
  ours[7] += 1;
  const auto contributions = explain(network, ours, theirs);
  ASSERT_EQ(contributions.size(), 1U);
  EXPECT_EQ(contributions[0].feature, 5U);
  EXPECT_EQ(contributions[0].ours, ours[5]);
  EXPECT_EQ(contributions[0].theirs, theirs[5]);
  EXPECT_TRUE(explain(network, theirs, theirs).empty());
}

}  // namespace
}  // namespace gemmsmith::policy
