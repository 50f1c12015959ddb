#include "policy/history.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "policy/small_network.h"

namespace gemmsmith::policy {
namespace {

// Six configs on a line of likeness, all rated alike but the last.
Scores line_of_six() { return {{0, 0, 0, 0, 0, -0.5F}, {0, 0.2F, 0.4F, 0.9F, 2, 5}, 1}; }

Network with_likeness() {
  Network network = small_network(1);
  network.adviser.clear();
  network.likeness = {0.5F, 0.1F, 0.3F, 0.01F};
  return network;
}

// The running update against the textbook's formula with the whole matrix at once.
TEST(History, CorrectionsAreTheGaussianProcessesMean) {
  const Network network = with_likeness();
  const Scores scores = line_of_six();
  History history(network, scores);
  const std::vector<std::pair<int, float>> told = {{0, 0.3F}, {3, 0.1F}, {1, 0.25F}};
  for (const auto& [config, value] : told) history.tell(static_cast<std::size_t>(config), value);

  const auto covariance = [&](int a, int b) {
    const double d =
        scores.hidden[static_cast<std::size_t>(a)] - scores.hidden[static_cast<std::size_t>(b)];
    return 0.01 * std::exp(-d * d / 2 / 0.25) + 0.09;
  };
  Eigen::Matrix3d among;
  Eigen::Vector3d residual;
  for (int i = 0; i < 3; ++i) {
    const auto row = static_cast<std::size_t>(i);
    residual(i) = told[row].second - told[0].second;  // around the first result
    for (int j = 0; j < 3; ++j)
      among(i, j) = covariance(told[row].first, told[static_cast<std::size_t>(j)].first) +
                    (i == j ? 0.0001 : 0);
  }
  const Eigen::LLT<Eigen::Matrix3d> factor(among);
  for (int c = 0; c < 6; ++c) {
    Eigen::Vector3d to;
    for (int i = 0; i < 3; ++i) to(i) = covariance(c, told[static_cast<std::size_t>(i)].first);
    const auto config = static_cast<std::size_t>(c);
    EXPECT_NEAR(history.corrections()[config], to.dot(factor.solve(residual)), 1e-4) << c;
    EXPECT_NEAR(history.deviation(config), std::sqrt(0.1 - to.dot(factor.solve(to))), 1e-3) << c;
  }
}

TEST(History, ABadResultSetsItsLikesBackMost) {
  const Network network = with_likeness();
  const Scores scores = line_of_six();
  History history(network, scores);
  history.tell(4, 0.0F);
  history.tell(0, -0.3F);
  EXPECT_LT(history.corrections()[1], history.corrections()[2]);
  EXPECT_LT(history.corrections()[2], history.corrections()[3]);
  const auto wanted = preferences(network, scores, history, 4);
  EXPECT_EQ(std::max_element(wanted.begin(), wanted.end()) - wanted.begin(), 3);
  EXPECT_TRUE(std::isinf(wanted[0]));
  EXPECT_TRUE(std::isinf(wanted[4]));
}

TEST(History, AFailureIsNeverAskedAgainAndTeachesNothing) {
  const Network network = with_likeness();
  const Scores scores = line_of_six();
  History history(network, scores);
  history.tell_failure(0);
  EXPECT_TRUE(history.is_known(0));
  EXPECT_FALSE(history.has_best());
  for (const float correction : history.corrections()) EXPECT_EQ(correction, 0);
}

TEST(History, AnAssumedResultChangesDoubtButNoExpectation) {
  const Network network = with_likeness();
  History history(network, line_of_six());
  history.tell(0, 0.3F);
  const float expected = history.expected(2);
  const float deviation = history.deviation(2);
  history.assume(1);
  EXPECT_NEAR(history.expected(2), expected, 1e-6F);
  EXPECT_LT(history.deviation(2), deviation);
}

TEST(History, FeaturesAreFiniteBeforeAndAfterResults) {
  const Network network = with_likeness();
  History history(network, line_of_six());
  for (int told = 0; told < 6; ++told) {
    const auto rows = history.features(6 - told);
    ASSERT_EQ(rows.size(), 6U * kHistoryFeatures);
    for (const float value : rows) EXPECT_TRUE(std::isfinite(value) && std::abs(value) <= 10);
    // The same result again and again: the covariances stay usable.
    history.tell(static_cast<std::size_t>(told), 0.1F);
  }
}

TEST(History, OneConfigIsASpaceToo) {
  const Network network = with_likeness();
  const Scores scores{{0.1F}, {1}, 1};
  History history(network, scores);
  EXPECT_FALSE(std::isinf(preferences(network, scores, history, 1)[0]));
  history.tell(0, 0.5F);
  EXPECT_TRUE(std::isinf(preferences(network, scores, history, 0)[0]));
  EXPECT_EQ(history.best(), 0.5F);
}

}  // namespace
}  // namespace gemmsmith::policy
