// train_config.h -- every hyper-parameter of training, read from a JSON file. What the file leaves
// out keeps its default; a name that is not known is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/learner.h"

namespace gemmsmith::train {

struct TrainConfig {
  std::uint64_t seed = 1;
  std::string hold_out = "none";  // HoldOut's text
  int hidden = 64;                // units of each of the scorer's two hidden layers
  int adviser_hidden = 16;
  int value_hidden = 32;
  double monitor_share = 0.1;    // of the training problems: fits the likeness, draws the curve
  double temperature = 0.02;     // of the policy's softmax, in logarithmic time
  bool shuffled_labels = false;  // control: times are exchanged among a problem's configs

  int list_epochs = 100;
  int list_shapes = 12;       // problems a step
  double value_floor = -0.5;  // worse than this is all the same, in logarithmic time
  ListSettings list;

  int ppo_iterations = 100;
  int ppo_shapes = 32;   // problems an iteration
  int ppo_rollouts = 8;  // searches of each
  // Measurements of each search: drawn from these, the same for the searches of one problem, so
  // that the adviser learns to spend few and many.
  std::vector<int> ppo_budgets = {1, 4, 16};
  int ppo_epochs = 4;
  int ppo_minibatches = 4;
  double entropy_end = 0.001;
  double kl_stop = 0.015;
  double reward_low = -2, reward_high = 1;
  PpoSettings ppo;
};

// Errors (kBadInput) name the file, the entry and what was expected.
Result<TrainConfig> parse_train_config(std::string_view json, const std::string& file_name);
std::string format_train_config(const TrainConfig& config);

}  // namespace gemmsmith::train
