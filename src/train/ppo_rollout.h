// ppo_rollout.h -- one search of a recorded problem by the policy as it is, its choices drawn from
// the masked softmax; what the learner needs of each step.
#pragma once

#include <vector>

#include "policy/history.h"
#include "search/generator.h"
#include "train/dataset.h"

namespace gemmsmith::train {

struct Visit {
  std::vector<float> corrections, advice, open;  // over the problem's configs
  std::vector<float> state;                      // inputs of the value head
  std::size_t action = 0;
  float log_probability = 0;
  float value = 0;    // what the value head expected
  float returns = 0;  // what was gained from here on
  float advantage = 0;
};

struct RolloutSettings {
  int budget = 16;
  double reward_low = -2, reward_high = 1;
};

// Inputs of the value head.
int state_width();

// The first reward is ln of the gain over tuned cuBLASLt, later ones what they add to the best so
// far, so their sum is the search's result. Results are drawn from the recorded repeats.
std::vector<Visit> roll_out(const policy::Network& network, const Shape& shape,
                            const RolloutSettings& settings, Generator& generator);

}  // namespace gemmsmith::train
