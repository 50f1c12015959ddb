#include "policy/explanation.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace gemmsmith::policy {
namespace {

// The scorer is linear between its kinks; this many pieces leave less than a thousandth of the
// difference unexplained.
constexpr int kPieces = 512;

using Vector = Eigen::VectorXf;
using MatrixView =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// d score / d input, at an input that is already scaled.
Vector gradient(const Network& network, const Vector& input) {
  std::vector<Vector> values = {input};
  const std::size_t hidden = network.scorer.size() - 1;
  for (std::size_t i = 0; i < hidden; ++i) {
    const Layer& layer = network.scorer[i];
    values.push_back(
        (MatrixView(layer.weights.data(), layer.outputs, layer.inputs) * values.back() +
         Eigen::Map<const Vector>(layer.bias.data(), layer.outputs))
            .cwiseMax(0.0F));
  }
  const Layer& last = network.scorer.back();
  Vector back = Eigen::Map<const Vector>(last.weights.data(), last.inputs);
  for (std::size_t i = hidden; i-- > 0;) {
    const Layer& layer = network.scorer[i];
    back = (values[i + 1].array() > 0).select(back, 0.0F);
    back = MatrixView(layer.weights.data(), layer.outputs, layer.inputs).transpose() * back;
  }
  return back;
}

}  // namespace

std::vector<Contribution> explain(const Network& network, std::span<const float> ours,
                                  std::span<const float> theirs) {
  const auto width = static_cast<Eigen::Index>(network.mean.size());
  const Eigen::Map<const Vector> mean(network.mean.data(), width);
  const Eigen::Map<const Vector> scale(network.scale.data(), width);
  const auto scaled = [&](std::span<const float> row) -> Vector {
    return (Eigen::Map<const Vector>(row.data(), width) - mean).cwiseProduct(scale);
  };
  const Vector from = scaled(theirs);
  const Vector way = scaled(ours) - from;
  Vector sum = Vector::Zero(width);
  for (int piece = 0; piece < kPieces; ++piece) {
    const float along = (static_cast<float>(piece) + 0.5F) / kPieces;
    sum += gradient(network, from + along * way);
  }
  std::vector<Contribution> contributions;
  for (Eigen::Index i = 0; i < width; ++i) {
    if (way(i) == 0) continue;
    const auto feature = static_cast<std::size_t>(i);
    contributions.push_back({feature, ours[feature], theirs[feature], sum(i) / kPieces * way(i)});
  }
  std::stable_sort(contributions.begin(), contributions.end(),
                   [](const Contribution& a, const Contribution& b) {
                     return std::abs(a.effect) > std::abs(b.effect);
                   });
  return contributions;
}

}  // namespace gemmsmith::policy
