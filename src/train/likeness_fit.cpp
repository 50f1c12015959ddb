#include "train/likeness_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/history.h"

namespace gemmsmith::train {
namespace {

constexpr float kLengths[] = {0.15F, 0.3F, 0.6F, 1.2F, 2.4F};  // of the usual distance
constexpr float kSignals[] = {0.02F, 0.04F, 0.08F, 0.16F, 0.32F};
constexpr float kNoises[] = {0.005F, 0.01F, 0.02F, 0.04F, 0.08F};
constexpr std::size_t kMostShapes = 60;

float usual_distance(const policy::Scores& scores) {
  std::vector<float> distances;
  const auto width = static_cast<std::size_t>(scores.width);
  for (std::size_t a = 0; a + 1 < scores.score.size(); a += 3) {
    float sum = 0;
    for (std::size_t i = 0; i < width; ++i)
      sum += std::pow(scores.hidden[a * width + i] - scores.hidden[(a + 1) * width + i], 2.0F);
    distances.push_back(std::sqrt(sum));
  }
  if (distances.empty()) return 1;
  std::nth_element(distances.begin(),
                   distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2),
                   distances.end());
  return std::max(distances[distances.size() / 2], 1e-3F);
}

}  // namespace

policy::Likeness fit_likeness(const policy::Network& network,
                              std::span<const Shape* const> shapes) {
  shapes = shapes.first(std::min(shapes.size(), kMostShapes));
  std::vector<policy::Scores> scores;
  std::vector<float> distances;
  for (const Shape* const shape : shapes) {
    scores.push_back(policy::score_rows(network, shape->features));
    distances.push_back(usual_distance(scores.back()));
  }
  std::sort(distances.begin(), distances.end());
  const float usual = distances.empty() ? 1 : distances[distances.size() / 2];
  policy::Network trial = network;
  policy::Likeness best = network.likeness;
  double best_evidence = -1e300;
  for (const float length : kLengths)
    for (const float signal : kSignals)
      for (const float noise : kNoises) {
        trial.likeness = {length * usual, signal, network.likeness.offset, noise};
        double evidence = 0;
        for (std::size_t s = 0; s < shapes.size(); ++s) {
          policy::History history(trial, scores[s]);
          // Slow configs are not what searches meet: the better half of the ratings.
          std::vector<float> sorted = scores[s].score;
          std::nth_element(sorted.begin(),
                           sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                           sorted.end());
          for (std::size_t c = 0; c < history.size(); ++c)
            if (scores[s].score[c] >= sorted[sorted.size() / 2])
              history.tell(c, shapes[s]->configs[c].value);
          evidence += history.evidence();
        }
        if (evidence > best_evidence) {
          best_evidence = evidence;
          best = trial.likeness;
        }
      }
  return best;
}

}  // namespace gemmsmith::train
