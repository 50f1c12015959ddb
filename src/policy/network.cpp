#include "policy/network.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "policy/features.h"
#include "policy/history.h"

namespace gemmsmith::policy {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<const Matrix>;
using RowView = Eigen::Map<const Eigen::RowVectorXf>;

MatrixView rows_of(std::span<const float> values, int width) {
  return {values.data(), static_cast<Eigen::Index>(values.size()) / std::max(width, 1), width};
}

Matrix apply(const Layer& layer, const Eigen::Ref<const Matrix>& rows) {
  Matrix result = rows * MatrixView(layer.weights.data(), layer.outputs, layer.inputs).transpose();
  result.rowwise() += RowView(layer.bias.data(), layer.outputs);
  return result;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

Result<void> check_layers(const char* what, const std::vector<Layer>& layers, std::size_t inputs) {
  std::size_t width = inputs;
  for (const Layer& layer : layers) {
    const auto in = static_cast<std::size_t>(layer.inputs);
    const auto out = static_cast<std::size_t>(layer.outputs);
    if (in != width || out == 0 || layer.weights.size() != in * out || layer.bias.size() != out)
      return fail(ErrorCode::kBadInput, "the {} has a layer of {} inputs and {} outputs after {}",
                  what, layer.inputs, layer.outputs, width);
    if (!all_finite(layer.weights) || !all_finite(layer.bias))
      return fail(ErrorCode::kBadInput, "the {} has a weight that is no finite number", what);
    width = out;
  }
  if (!layers.empty() && width != 1)
    return fail(ErrorCode::kBadInput, "the {} ends in {} numbers instead of one", what, width);
  return {};
}

}  // namespace

Result<void> check(const Network& network) {
  if (network.mean.size() != feature_count() || network.scale.size() != feature_count())
    return fail(ErrorCode::kBadInput, "the network was made for {} features, this program has {}",
                network.mean.size(), feature_count());
  if (!all_finite(network.mean) || !all_finite(network.scale))
    return fail(ErrorCode::kBadInput, "a feature's mean or scale is no finite number");
  if (network.scorer.size() < 2)
    return fail(ErrorCode::kBadInput, "the scorer has no hidden layer");
  GEMMSMITH_CHECK(check_layers("scorer", network.scorer, feature_count()));
  GEMMSMITH_CHECK(check_layers("adviser", network.adviser, kHistoryFeatures));
  if (!network.value.empty())
    GEMMSMITH_CHECK(check_layers("value head", network.value,
                                 static_cast<std::size_t>(network.value.front().inputs)));
  const Likeness& likeness = network.likeness;
  for (const float positive :
       {likeness.length, likeness.signal, likeness.offset, likeness.noise, network.temperature})
    if (!(positive > 0) || !std::isfinite(positive))
      return fail(ErrorCode::kBadInput, "a likeness or the temperature is not above zero");
  return {};
}

Scores score_rows(const Network& network, std::span<const float> rows) {
  Scores scores;
  if (rows.empty()) return scores;
  const auto features = static_cast<int>(network.mean.size());
  const RowView mean(network.mean.data(), features);
  const RowView scale(network.scale.data(), features);
  Matrix values = rows_of(rows, features);
  values.rowwise() -= mean;
  values.array().rowwise() *= scale.array();
  for (std::size_t i = 0; i + 1 < network.scorer.size(); ++i)
    values = apply(network.scorer[i], values).cwiseMax(0.0F);
  scores.width = static_cast<int>(values.cols());
  scores.hidden.assign(values.data(), values.data() + values.size());
  const Matrix last = apply(network.scorer.back(), values);
  scores.score.assign(last.data(), last.data() + last.size());
  return scores;
}

std::vector<float> forward(std::span<const Layer> layers, std::span<const float> rows) {
  if (layers.empty() || rows.empty()) return {};
  Matrix values = rows_of(rows, layers.front().inputs);
  for (std::size_t i = 0; i + 1 < layers.size(); ++i)
    values = apply(layers[i], values).cwiseMax(0.0F);
  const Matrix last = apply(layers.back(), values);
  return {last.data(), last.data() + last.size()};
}

}  // namespace gemmsmith::policy
