// history.h -- what was measured so far, as the policy sees it. Each result corrects the scorer for
// the configs that are like it (a Gaussian process over the scorer's errors), and the state of the
// search becomes a few numbers a config for the adviser.
#pragma once

#include <span>
#include <vector>

#include "policy/network.h"

namespace gemmsmith::policy {

constexpr int kHistoryFeatures = 8;

class History {
 public:
  // For the configs that `scores` rates, in that order.
  History(const Network& network, Scores scores);

  // A config ran: `value` is minus the logarithm of its time, or of its time over the baseline's,
  // the same for all results of a search. Every config is told once at most.
  void tell(std::size_t config, float value);
  // It failed: never to be asked again, and nothing is learnt of its likes.
  void tell_failure(std::size_t config);
  // Another round will measure it: treated as told with the expected value, which changes what is
  // uncertain but not what is expected.
  void assume(std::size_t config);

  std::size_t size() const { return scores_.score.size(); }
  int told() const { return told_; }
  bool is_known(std::size_t config) const { return known_[config]; }
  bool has_best() const { return has_best_; }
  float best() const { return best_; }  // highest value told

  // What the measurements changed in a config's score; 0 before the first.
  std::span<const float> corrections() const { return correction_; }
  float expected(std::size_t config) const;
  float deviation(std::size_t config) const;
  // Logarithm of how likely the results told so far were, up to a constant of their number.
  float evidence() const { return evidence_; }

  // size() x kHistoryFeatures; `budget_left` counts the measurement about to be chosen.
  std::vector<float> features(int budget_left) const;

 private:
  void observe(std::size_t config, float residual);
  float likeness(std::size_t a, std::size_t b) const;  // 0..1

  Likeness kernel_;
  Scores scores_;
  float top_score_ = 0;
  std::vector<bool> known_;
  std::vector<float> correction_, variance_, nearest_;
  std::vector<std::vector<float>> rows_;  // of the inverse Cholesky factor times the covariances
  std::vector<float> weights_;
  float base_ = 0;  // the first result's error, which stands for the problem's own
  float best_ = 0;
  bool has_best_ = false;
  int told_ = 0;
  float evidence_ = 0;
};

// One number a config: the policy's preference, highest first; minus infinity for known ones.
std::vector<float> preferences(const Network& network, const Scores& scores, const History& history,
                               int budget_left);

}  // namespace gemmsmith::policy
