#include "policy/network.h"

#include <gtest/gtest.h>

#include <limits>

#include "policy/small_network.h"

namespace gemmsmith::policy {
namespace {

// By hand: 2 inputs, 2 hidden units of which one is cut off at zero.
TEST(Network, ForwardIsTheSumThatItSays) {
  const std::vector<Layer> layers = {{2, 2, {1, 2, -1, 0}, {0.5F, 0}}, {2, 1, {3, 100}, {-1}}};
  // 1*1 + 2*2 + 0.5 = 5.5; -1 -> 0; 3*5.5 - 1 = 15.5.
  EXPECT_EQ(forward(layers, std::vector<float>{1, 2}), (std::vector<float>{15.5F}));
  // Second row: -2 + 2*0 + 0.5 < 0 -> 0; 2 -> 200 - 1.
  EXPECT_EQ(forward(layers, std::vector<float>{1, 2, -2, 0}), (std::vector<float>{15.5F, 199}));
}

TEST(Network, AFeatureThatNeverVariedIsLeftOut) {
  Network network = small_network(1);
  network.scale[3] = 0;
  std::vector<float> row(feature_count(), 1);
  const auto before = score_rows(network, row).score;
  row[3] = 1000;
  EXPECT_EQ(score_rows(network, row).score, before);
  row[4] = 1000;
  EXPECT_NE(score_rows(network, row).score, before);
}

TEST(Network, ARowsScoreDoesNotDependOnItsNeighbours) {
  const Network network = small_network(2);
  std::vector<float> one(feature_count(), 0.7F);
  std::vector<float> three(feature_count(), -2);
  three.insert(three.end(), one.begin(), one.end());
  three.insert(three.end(), feature_count(), 5);
  EXPECT_NEAR(score_rows(network, three).score[1], score_rows(network, one).score[0], 1e-5F);
}

TEST(Network, NothingToScoreIsNoScores) {
  EXPECT_TRUE(score_rows(small_network(1), {}).score.empty());
}

TEST(Network, CheckSaysWhatDoesNotFit) {
  EXPECT_TRUE(check(small_network(1)));
  Network network = small_network(1);
  network.mean.pop_back();
  EXPECT_EQ(check(network).error().what,
            fmt::format("the network was made for {} features, this program has {}",
                        feature_count() - 1, feature_count()));
  network = small_network(1);
  network.scorer[1].inputs = 7;
  EXPECT_EQ(check(network).error().what,
            "the scorer has a layer of 7 inputs and 8 outputs after 8");
  network = small_network(1);
  network.adviser.back().bias[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(check(network).error().what, "the adviser has a weight that is no finite number");
  network = small_network(1);
  network.temperature = 0;
  EXPECT_EQ(check(network).error().what, "a likeness or the temperature is not above zero");
  network = small_network(1);
  network.scorer.pop_back();
  EXPECT_EQ(check(network).error().what, "the scorer ends in 8 numbers instead of one");
}

}  // namespace
}  // namespace gemmsmith::policy
