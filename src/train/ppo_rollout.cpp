#include "train/ppo_rollout.h"

#include <algorithm>
#include <cmath>

#include "policy/features.h"

namespace gemmsmith::train {
namespace {

constexpr int kSearchFeatures = 5;
constexpr float kUnit = 0.05F;

std::vector<float> state_of(const policy::Network& network, const Shape& shape,
                            const policy::History& history, int left) {
  std::vector<float> state;
  for (std::size_t i = 0; i < policy::problem_feature_count(); ++i)
    state.push_back((shape.features[i] - network.mean[i]) * network.scale[i]);
  float gain = 0;
  for (std::size_t c = 0; history.has_best() && c < history.size(); ++c)
    if (!history.is_known(c)) gain = std::max(gain, history.expected(c) - history.best());
  state.insert(state.end(),
               {std::log1p(static_cast<float>(history.told())),
                std::log1p(static_cast<float>(left)), history.has_best() ? history.best() : 0.0F,
                history.has_best() ? 1.0F : 0.0F, std::min(gain / kUnit, 10.0F)});
  return state;
}

}  // namespace

int state_width() { return static_cast<int>(policy::problem_feature_count()) + kSearchFeatures; }

std::vector<Visit> roll_out(const policy::Network& network, const Shape& shape,
                            const RolloutSettings& settings, Generator& generator) {
  const policy::Scores scores = policy::score_rows(network, shape.features);
  policy::History history(network, scores);
  std::vector<Visit> visits;
  std::vector<float> rewards;
  float best = 0;
  const int steps = std::min(settings.budget, static_cast<int>(shape.size()));
  for (int step = 0; step < steps; ++step) {
    const int left = settings.budget - step;
    Visit visit;
    visit.corrections.assign(history.corrections().begin(), history.corrections().end());
    visit.advice = history.features(left);
    visit.state = state_of(network, shape, history, left);
    visit.value = policy::forward(network.value, visit.state)[0];
    const std::vector<float> logits = policy::preferences(network, scores, history, left);
    const float top = *std::max_element(logits.begin(), logits.end());
    std::vector<double> weights;
    double sum = 0;
    for (const float logit : logits) {
      weights.push_back(std::exp(static_cast<double>(logit - top)));
      sum += weights.back();
      visit.open.push_back(std::isfinite(logit) ? 1.0F : 0.0F);
    }
    double draw = generator.unit() * sum;
    // Rounding may leave a remainder behind the last; then the likeliest stands in.
    visit.action =
        static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    for (std::size_t c = 0; c < weights.size(); ++c) {
      draw -= weights[c];
      if (draw < 0 && visit.open[c] > 0) {
        visit.action = c;
        break;
      }
    }
    visit.log_probability =
        static_cast<float>(static_cast<double>(logits[visit.action] - top) - std::log(sum));
    const MeasuredConfig& measured = shape.configs[visit.action];
    std::uint64_t noise = generator.below(std::size_t{1} << 62);
    history.tell(visit.action, drawn_value(measured, noise));
    const float reward = step == 0 ? measured.value : std::max(0.0F, measured.value - best);
    best = step == 0 ? measured.value : std::max(best, measured.value);
    rewards.push_back(std::clamp(reward, static_cast<float>(settings.reward_low),
                                 static_cast<float>(settings.reward_high)));
    visits.push_back(std::move(visit));
  }
  float returns = 0;
  for (std::size_t i = visits.size(); i-- > 0;) {
    returns += rewards[i];
    visits[i].returns = returns;
  }
  return visits;
}

}  // namespace gemmsmith::train
