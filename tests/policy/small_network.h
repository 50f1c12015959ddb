// small_network.h -- an untrained network of the program's feature set, for tests: small numbers
// that follow from a seed.
#pragma once

#include <cmath>
#include <random>

#include "policy/features.h"
#include "policy/history.h"
#include "policy/network.h"

namespace gemmsmith::policy {

inline Layer random_layer(int inputs, int outputs, std::mt19937& random) {
  Layer layer{inputs, outputs, {}, {}};
  const auto number = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
  for (int i = 0; i < inputs * outputs; ++i)
    layer.weights.push_back(number() / std::sqrt(static_cast<float>(inputs)));
  for (int i = 0; i < outputs; ++i) layer.bias.push_back(number() / 10);
  return layer;
}

inline Network small_network(unsigned seed, int hidden = 8) {
  std::mt19937 random(seed);
  const auto features = static_cast<int>(feature_count());
  Network network;
  network.mean.assign(feature_count(), 1.5F);
  network.scale.assign(feature_count(), 0.25F);
  network.scorer = {random_layer(features, hidden, random), random_layer(hidden, hidden, random),
                    random_layer(hidden, 1, random)};
  network.adviser = {random_layer(kHistoryFeatures, 4, random), random_layer(4, 1, random)};
  network.value = {random_layer(static_cast<int>(problem_feature_count()) + 5, 4, random),
                   random_layer(4, 1, random)};
  return network;
}

}  // namespace gemmsmith::policy
