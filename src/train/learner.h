// learner.h -- what training needs of an automatic-differentiation library: one step of each loss
// on a batch of plain numbers. libtorch stands behind it, in a library of its own that is opened
// only by `gemmsmith train`; nothing else knows that it exists.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "policy/network.h"

namespace gemmsmith::train {

// Problems of a batch, padded to one width: shape s, config c is row s * width + c.
struct Rows {
  int shapes = 0;
  int width = 0;
  std::vector<float> features;  // x feature count, not normalised
  std::vector<float> present;   // 1, or 0 for padding
};

struct ListBatch {
  Rows rows;
  std::vector<float> values;  // minus-logarithm of time over the problem's best, clipped
};

struct ListSettings {
  double rate = 0.004;
  double temperature = 0.02;  // of the target distribution over a problem's configs
  double regression = 1;      // weight of the error of the values themselves
  double weight_decay = 1e-4;
};

// States visited by searches; state t, config c is row t * width + c.
struct PpoBatch {
  Rows rows;
  std::vector<std::int64_t> shape_of;  // of each state
  std::vector<float> corrections;      // states x width
  std::vector<float> advice;           // states x width x policy::kHistoryFeatures
  std::vector<float> open;             // 1 where the config may be chosen
  std::vector<float> state;            // states x inputs of the value head
  std::vector<std::int64_t> action;
  std::vector<float> log_probability;  // when it was chosen
  std::vector<float> advantage;
  std::vector<float> returns;
};

struct PpoSettings {
  double rate = 3e-3;
  double scorer_rate = 0;  // share of the rate by which the scorer learns; 0: it stays
  double clip = 0.2;
  double entropy = 0.01;
  double value_weight = 0.5;
  double gradient_norm = 0.5;
};

struct PpoStep {
  double policy_loss = 0;
  double value_loss = 0;
  double entropy = 0;
  double divergence = 0;  // mean of log old minus log new probability
  double clipped = 0;     // share of states
};

class Learner {
 public:
  virtual ~Learner() = default;
  // Takes over the weights and forgets the optimiser's state.
  virtual void load(const policy::Network& network) = 0;
  virtual void store(policy::Network& network) const = 0;
  // The scorer's score of each row, padding included; as policy::score_rows gives them.
  virtual std::vector<float> scores(const Rows& rows) const = 0;
  virtual double list_step(const ListBatch& batch, const ListSettings& settings) = 0;
  virtual PpoStep ppo_step(const PpoBatch& batch, const PpoSettings& settings) = 0;
};

// kEnvironment where the learner's library is not there: what was looked for, what to install.
// GEMMSMITH_LEARNER names another place.
Result<std::unique_ptr<Learner>> open_learner();

// Changes with the types above; library and program must agree.
constexpr std::uint32_t kLearnerVersion = 1;

}  // namespace gemmsmith::train
