// trainer.h -- from a recording to a policy: a listwise start that learns to order each problem's
// configs, the fit of how alike configs err, then proximal policy optimisation of whole searches.
// The same recording, settings and seed give the same file.
#pragma once

#include <functional>

#include "policy/policy_file.h"
#include "train/dataset.h"
#include "train/train_config.h"

namespace gemmsmith::train {

struct TrainEvent {
  const char* stage = "";  // "list", "likeness", "ppo"
  int step = 0;            // of `steps`
  int steps = 0;
  double loss = 0;
  PpoStep ppo;
  double reward = 0;     // mean of what the iteration's searches gained over tuned cuBLASLt
  double explained = 0;  // share of the returns' variance that the value head explains
  // Fractions of the recorded best on the monitor's problems after 1, 4 and 16 measurements; 0
  // where they were not computed.
  double after_1 = 0, after_4 = 0, after_16 = 0;
};

using TrainCallback = std::function<void(const TrainEvent&)>;

struct Trained {
  policy::Network listwise;  // before reinforcement learning: what it has to beat
  policy::Network network;
  int training_problems = 0;
  int held_out_problems = 0;
};

// kBadInput where the hold-out leaves nothing to train on; kInterrupted when the user stopped it.
Result<Trained> train(const Dataset& dataset, const TrainConfig& config, Learner& learner,
                      const TrainCallback& callback);

}  // namespace gemmsmith::train
