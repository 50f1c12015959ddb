// learner_test.cpp -- the learner itself: the same scores as the product, gradients that agree with
// differences, a bandit whose best arm is known, runs that repeat bit for bit. Built where libtorch
// is.
#include "train/learner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/scoped_environment.h"
#include "policy/policy_file.h"
#include "policy/small_network.h"
#include "train/ppo_rollout.h"
#include "train/replay.h"
#include "train/small_recording.h"
#include "train/trainer.h"

namespace gemmsmith::train {
namespace {

std::unique_ptr<Learner> learner() {
  const test::ScopedEnvironment place("GEMMSMITH_LEARNER", GEMMSMITH_LEARNER_LIBRARY);
  auto opened = open_learner();
  if (!opened) ADD_FAILURE() << opened.error().what;
  return std::move(*opened);
}

Rows random_rows(int shapes, int width, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows{shapes, width, {}, std::vector<float>(static_cast<std::size_t>(shapes * width), 1)};
  for (std::size_t i = 0; i < rows.present.size() * policy::feature_count(); ++i)
    rows.features.push_back(static_cast<float>(random() % 1000) / 100 - 3);
  return rows;
}

TEST(Learner, ScoresAreTheProducts) {
  const policy::Network network = policy::small_network(3, 64);
  const auto torch = learner();
  torch->load(network);
  const Rows rows = random_rows(4, 50, 1);
  const auto theirs = torch->scores(rows);
  const auto ours = policy::score_rows(network, rows.features).score;
  ASSERT_EQ(theirs.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(theirs[i], ours[i], 1e-5F) << i;
}

TEST(Learner, WeightsComeBackAsTheyWere) {
  const policy::Network network = policy::small_network(3);
  const auto torch = learner();
  torch->load(network);
  policy::Network stored = policy::small_network(4);
  stored.mean = network.mean;
  torch->store(stored);
  EXPECT_EQ(stored.scorer, network.scorer);
  EXPECT_EQ(stored.adviser, network.adviser);
  EXPECT_EQ(stored.value, network.value);
}

// One step of plain descent moves each weight against its gradient; Adam's first step moves it by
// the rate in that direction. The sign is held against a difference of the loss.
TEST(Learner, ListStepGoesDownhillInEveryWeight) {
  policy::Network network = policy::small_network(3, 4);
  network.temperature = 1;
  ListBatch batch{random_rows(3, 6, 2), {}};
  for (int i = 0; i < 18; ++i) batch.values.push_back(-0.02F * static_cast<float>(i * 7 % 18));
  ListSettings settings;
  settings.rate = 1e-3;
  settings.temperature = 1;
  settings.weight_decay = 0;
  const auto torch = learner();
  const auto loss = [&](const policy::Network& at) {
    torch->load(at);
    ListSettings still = settings;
    still.rate = 0;
    return torch->list_step(batch, still);
  };
  torch->load(network);
  torch->list_step(batch, settings);
  policy::Network moved = network;
  torch->store(moved);
  int judged = 0;
  for (std::size_t i = 0; i < network.scorer.back().weights.size(); ++i) {
    policy::Network up = network, down = network;
    up.scorer.back().weights[i] += 0.02F;
    down.scorer.back().weights[i] -= 0.02F;
    const double slope = (loss(up) - loss(down)) / 0.04;
    if (std::abs(slope) < 1e-3) continue;  // below what f32 differences tell
    ++judged;
    const double step = moved.scorer.back().weights[i] - network.scorer.back().weights[i];
    EXPECT_LT(step * slope, 0) << i;
  }
  EXPECT_GT(judged, 0);
}

// One problem, four configs, the third gains most: the policy learns to choose it.
TEST(Learner, PpoFindsTheBestArmOfABandit) {
  Dataset dataset = *make_dataset(device_of(small_recording(1, 4)));
  Shape shape = dataset.shapes[0];
  ASSERT_EQ(shape.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    shape.configs[i].value = i == 2 ? 0.5F : 0.0F;
    shape.configs[i].repeats.clear();
  }
  shape.best = 0.5F;
  policy::Network network = policy::small_network(3, 16);
  network.temperature = 0.2F;
  const auto torch = learner();
  torch->load(network);
  PpoSettings settings;
  settings.rate = 0.01;
  settings.scorer_rate = 1;
  settings.entropy = 0;
  Generator generator(1);
  const auto chance = [&] {
    int chosen = 0;
    for (int i = 0; i < 200; ++i)
      if (roll_out(network, shape, {1, -2, 1}, generator)[0].action == 2) ++chosen;
    return chosen / 200.0;
  };
  for (int iteration = 0; iteration < 60; ++iteration) {
    PpoBatch batch;
    batch.rows = {1, 4, shape.features, {1, 1, 1, 1}};
    float mean = 0;
    std::vector<Visit> visits;
    for (int i = 0; i < 16; ++i)
      visits.push_back(roll_out(network, shape, {1, -2, 1}, generator)[0]);
    for (const Visit& visit : visits) mean += visit.returns / 16;
    for (const Visit& visit : visits) {
      batch.shape_of.push_back(0);
      batch.corrections.insert(batch.corrections.end(), visit.corrections.begin(),
                               visit.corrections.end());
      batch.advice.insert(batch.advice.end(), visit.advice.begin(), visit.advice.end());
      batch.open.insert(batch.open.end(), visit.open.begin(), visit.open.end());
      batch.state.insert(batch.state.end(), visit.state.begin(), visit.state.end());
      batch.action.push_back(static_cast<std::int64_t>(visit.action));
      batch.log_probability.push_back(visit.log_probability);
      batch.advantage.push_back(visit.returns - mean);
      batch.returns.push_back(visit.returns);
    }
    torch->ppo_step(batch, settings);
    torch->store(network);
  }
  EXPECT_GT(chance(), 0.9);
}

TrainConfig quick() {
  TrainConfig config;
  config.hidden = 16;
  config.list_epochs = 20;
  config.ppo_iterations = 3;
  config.ppo_shapes = 4;
  return config;
}

TEST(Trainer, TheSameSeedGivesTheSameFileAndAnotherAnother) {
  const Dataset dataset = *make_dataset(device_of(small_recording(30, 12)));
  const auto file = [&](std::uint64_t seed) {
    TrainConfig config = quick();
    config.seed = seed;
    return policy::format_policy({train(dataset, config, *learner(), {})->network, "{}"});
  };
  EXPECT_EQ(file(1), file(1));
  EXPECT_NE(file(1), file(2));
}

TEST(Trainer, LearnsWhatCanBeLearntAndShuffledLabelsTeachNothing) {
  const Dataset dataset = *make_dataset(device_of(small_recording(60, 80)));
  std::vector<const Shape*> held;
  TrainConfig config = quick();
  config.hold_out = "random:0/4";
  config.ppo_iterations = 0;
  for (const Shape& shape : dataset.shapes)
    if (HoldOut::parse(config.hold_out)->holds(shape.problem)) held.push_back(&shape);
  ASSERT_GT(held.size(), 5U);
  // One network so small may be lucky without having learnt anything.
  constexpr int kSeeds = 5;
  const auto mean_quality = [&](bool shuffled) {
    const int budgets[] = {1};
    double sum = 0;
    config.shuffled_labels = shuffled;
    for (config.seed = 1; config.seed <= kSeeds; ++config.seed)
      sum += quality(train(dataset, config, *learner(), {})->network, held, budgets)[0].mean;
    return sum / kSeeds;
  };
  double by_chance = 0;  // what a draw reaches
  for (const Shape* shape : held) {
    double sum = 0;
    for (const MeasuredConfig& one : shape->configs) sum += one.value - shape->best;
    by_chance +=
        std::exp(sum / static_cast<double>(shape->size())) / static_cast<double>(held.size());
  }
  EXPECT_GT(mean_quality(false), by_chance + 0.03);
  EXPECT_LT(mean_quality(true), by_chance + 0.01);
}

TEST(Trainer, AHoldOutOfEverythingIsRefused) {
  const Dataset dataset = *make_dataset(device_of(small_recording(1, 5)));
  TrainConfig config = quick();
  config.hold_out = "m=256";
  EXPECT_EQ(train(dataset, config, *learner(), {}).error().what,
            "hold-out m=256 leaves 0 of 1 recorded problems: too few to train on");
}

}  // namespace
}  // namespace gemmsmith::train
