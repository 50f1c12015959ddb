#include "policy/history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gemmsmith::policy {
namespace {

// One unit of the adviser's inputs: 5 % of time.
constexpr float kUnit = 0.05F;
constexpr float kFarthest = 10;  // units; beyond, more does not mean more

float in_units(float difference) { return std::clamp(difference / kUnit, -kFarthest, kFarthest); }

// Of a normal variable above zero.
float expected_gain(float mean, float deviation) {
  if (deviation <= 1e-6F) return std::max(mean, 0.0F);
  const float z = mean / deviation;
  const float density = 0.39894228F * std::exp(-0.5F * z * z);
  const float below = 0.5F * std::erfc(-z * 0.70710678F);
  return mean * below + deviation * density;
}

}  // namespace

History::History(const Network& network, Scores scores)
    : kernel_(network.likeness),
      scores_(std::move(scores)),
      known_(scores_.score.size(), false),
      correction_(scores_.score.size(), 0.0F),
      variance_(scores_.score.size(),
                kernel_.signal * kernel_.signal + kernel_.offset * kernel_.offset),
      nearest_(scores_.score.size(), 0.0F) {
  if (!scores_.score.empty())
    top_score_ = *std::max_element(scores_.score.begin(), scores_.score.end());
}

float History::likeness(std::size_t a, std::size_t b) const {
  const auto width = static_cast<std::size_t>(scores_.width);
  const float* const x = scores_.hidden.data() + a * width;
  const float* const y = scores_.hidden.data() + b * width;
  float sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::exp(-sum / (2 * kernel_.length * kernel_.length));
}

// One more row of the Cholesky factor: correction and variance of every config in one pass.
void History::observe(std::size_t config, float residual) {
  const float signal = kernel_.signal * kernel_.signal;
  const float offset = kernel_.offset * kernel_.offset;
  float diagonal = signal + offset + kernel_.noise * kernel_.noise;
  float weight = residual;
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    diagonal -= rows_[j][config] * rows_[j][config];
    weight -= rows_[j][config] * weights_[j];
  }
  const float pivot = std::sqrt(std::max(diagonal, 1e-8F));
  weight /= pivot;
  evidence_ -= std::log(pivot) + weight * weight / 2;
  std::vector<float> row(size());
  for (std::size_t c = 0; c < row.size(); ++c) {
    const float like = likeness(config, c);
    nearest_[c] = std::max(nearest_[c], like);
    float covariance = signal * like + offset;
    for (const std::vector<float>& earlier : rows_) covariance -= earlier[config] * earlier[c];
    row[c] = covariance / pivot;
    correction_[c] += row[c] * weight;
    variance_[c] = std::max(variance_[c] - row[c] * row[c], 0.0F);
  }
  rows_.push_back(std::move(row));
  weights_.push_back(weight);
}

void History::tell(std::size_t config, float value) {
  if (!has_best_) base_ = value - scores_.score[config];
  observe(config, value - scores_.score[config] - base_);
  best_ = has_best_ ? std::max(best_, value) : value;
  has_best_ = true;
  known_[config] = true;
  ++told_;
}

void History::tell_failure(std::size_t config) {
  known_[config] = true;
  ++told_;
}

void History::assume(std::size_t config) {
  observe(config, correction_[config]);
  known_[config] = true;
  ++told_;
}

float History::expected(std::size_t config) const {
  return scores_.score[config] + base_ + correction_[config];
}

float History::deviation(std::size_t config) const { return std::sqrt(variance_[config]); }

std::vector<float> History::features(int budget_left) const {
  std::vector<float> rows;
  rows.reserve(size() * kHistoryFeatures);
  const float steps = std::log1p(static_cast<float>(told_)) / 4;
  const float left = std::log1p(static_cast<float>(std::max(budget_left, 0))) / 4;
  for (std::size_t c = 0; c < size(); ++c) {
    const float over_top = in_units(scores_.score[c] - top_score_);
    const float gain = has_best_ ? expected(c) - best_ : scores_.score[c] - top_score_;
    const float unsure = has_best_ ? deviation(c) : kernel_.signal;
    rows.insert(rows.end(), {in_units(gain), in_units(unsure), over_top, steps, left, nearest_[c],
                             in_units(expected_gain(gain, unsure)), has_best_ ? 0.0F : 1.0F});
  }
  return rows;
}

std::vector<float> preferences(const Network& network, const Scores& scores, const History& history,
                               int budget_left) {
  std::vector<float> result(history.size(), -std::numeric_limits<float>::infinity());
  std::vector<float> advice;
  if (!network.adviser.empty()) advice = forward(network.adviser, history.features(budget_left));
  for (std::size_t c = 0; c < result.size(); ++c) {
    if (history.is_known(c)) continue;
    result[c] = (scores.score[c] + history.corrections()[c]) / network.temperature;
    if (!advice.empty()) result[c] += advice[c];
  }
  return result;
}

}  // namespace gemmsmith::policy
