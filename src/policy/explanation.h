// explanation.h -- why the policy rates one config above another: what each feature in which they
// differ adds to the difference of their scores.
#pragma once

#include <vector>

#include "policy/network.h"

namespace gemmsmith::policy {

struct Contribution {
  std::size_t feature = 0;  // place in feature_names()
  float ours = 0;           // the feature's value of the first config
  float theirs = 0;         // of the second
  float effect = 0;         // on the difference of scores: above 0 speaks for the first
};

// Largest effects first; features that are equal, or that the network leaves out, are not listed.
// The effects add up to the difference of the scores: gradients are gathered along the straight way
// from one row to the other (Sundararajan, Taly and Yan 2017, "integrated gradients").
std::vector<Contribution> explain(const Network& network, std::span<const float> ours,
                                  std::span<const float> theirs);

}  // namespace gemmsmith::policy
