// network.h -- the policy's network as plain numbers, and its forward pass. Three small
// perceptrons: the scorer rates a config for a problem on a target; the adviser corrects the rating
// by what was measured so far; the value head says how much a search still has to gain.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"

namespace gemmsmith::policy {

struct Layer {
  int inputs = 0;
  int outputs = 0;
  std::vector<float> weights;  // outputs x inputs, row by row
  std::vector<float> bias;     // outputs
  bool operator==(const Layer&) const = default;
};

// How alike two configs err: the covariance of what the scorer misses, over the distance of the
// scorer's last hidden layer.
struct Likeness {
  float length = 1;
  float signal = 0.1F;  // standard deviation of a config's own error, in logarithmic time
  float offset = 0.3F;  // of the error that a problem's configs share
  float noise = 0.01F;  // of a measurement
  bool operator==(const Likeness&) const = default;
};

struct Network {
  // A feature enters as (x - mean) * scale. Scale 0: it never varied in training, so nothing was
  // learnt of it and it is left out.
  std::vector<float> mean, scale;
  std::vector<Layer> scorer;   // features -> hidden -> hidden -> 1
  std::vector<Layer> adviser;  // history features -> hidden -> 1; empty: only the likeness advises
  std::vector<Layer> value;    // state features -> hidden -> 1; used in training only
  Likeness likeness;
  float temperature = 0.02F;  // of the softmax over configs, in logarithmic time
  bool operator==(const Network&) const = default;
};

// The layers fit each other, the features and the history; every number is finite. kBadInput says
// what does not.
Result<void> check(const Network& network);

struct Scores {
  // Predicted minus-logarithm of the time, comparable among configs of one problem.
  std::vector<float> score;
  std::vector<float> hidden;  // count x width: the scorer's last hidden layer
  int width = 0;
};

// `rows` holds feature_count() values for each config.
Scores score_rows(const Network& network, std::span<const float> rows);

// A perceptron with rectified hidden layers and one output, on `rows` of its inputs.
std::vector<float> forward(std::span<const Layer> layers, std::span<const float> rows);

}  // namespace gemmsmith::policy
