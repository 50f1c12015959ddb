// torch_learner.cpp -- the learner by libtorch. One thread and no random numbers: the same batches
// give the same weights, bit for bit, on one machine.
#include <dlfcn.h>
#include <torch/torch.h>

#include <cmath>

#include "policy/history.h"
#include "train/learner.h"

namespace gemmsmith::train {
namespace {

constexpr double kAdamEpsilon = 1e-5;
constexpr double kHuber = 0.1;   // of values: beyond 10 % of time, errors count linearly
constexpr double kListNorm = 5;  // a gradient longer than this is shortened to it
constexpr float kNever = -1e9F;  // the logit of what may not be chosen

torch::Tensor tensor(const std::vector<float>& values, at::IntArrayRef sizes) {
  return torch::from_blob(const_cast<float*>(values.data()), sizes, torch::kFloat32).clone();
}

torch::Tensor indices(const std::vector<std::int64_t>& values) {
  return torch::from_blob(const_cast<std::int64_t*>(values.data()),
                          {static_cast<std::int64_t>(values.size())}, torch::kInt64)
      .clone();
}

std::vector<float> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  const float* const data = flat.data_ptr<float>();
  return {data, data + flat.numel()};
}

struct Perceptron {
  std::vector<torch::Tensor> weights, biases;

  void load(const std::vector<policy::Layer>& layers) {
    weights.clear();
    biases.clear();
    for (const policy::Layer& layer : layers) {
      weights.push_back(tensor(layer.weights, {layer.outputs, layer.inputs}).requires_grad_());
      biases.push_back(tensor(layer.bias, {layer.outputs}).requires_grad_());
    }
  }
  void store(std::vector<policy::Layer>& layers) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      layers[i].weights = numbers(weights[i]);
      layers[i].bias = numbers(biases[i]);
    }
  }
  // One number for each row.
  torch::Tensor apply(torch::Tensor rows) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      rows = torch::addmm(biases[i], rows, weights[i].t());
      if (i + 1 < weights.size()) rows = torch::relu(rows);
    }
    return rows.squeeze(1);
  }
  void add_to(std::vector<torch::Tensor>& parameters) const {
    parameters.insert(parameters.end(), weights.begin(), weights.end());
    parameters.insert(parameters.end(), biases.begin(), biases.end());
  }
};

// OpenBLAS keeps threads of its own, which would split sums differently from run to run.
void use_one_thread() {
  torch::set_num_threads(1);
  using SetThreads = void(int);
  if (auto* const set =
          reinterpret_cast<SetThreads*>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")))
    set(1);
}

class TorchLearner : public Learner {
 public:
  TorchLearner() { use_one_thread(); }

  void load(const policy::Network& network) override {
    const auto features = static_cast<std::int64_t>(network.mean.size());
    mean_ = tensor(network.mean, {features});
    scale_ = tensor(network.scale, {features});
    temperature_ = network.temperature;
    scorer_.load(network.scorer);
    adviser_.load(network.adviser);
    value_.load(network.value);
    std::vector<torch::Tensor> scorer, rest;
    scorer_.add_to(scorer);
    adviser_.add_to(rest);
    value_.add_to(rest);
    parameters_ = scorer;
    parameters_.insert(parameters_.end(), rest.begin(), rest.end());
    const auto options = torch::optim::AdamWOptions(1e-3).eps(kAdamEpsilon).weight_decay(0);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (const std::vector<torch::Tensor>& parameters : {scorer, rest})
      groups.emplace_back(parameters, std::make_unique<torch::optim::AdamWOptions>(options));
    optimizer_ = std::make_unique<torch::optim::AdamW>(std::move(groups), options);
  }

  void store(policy::Network& network) const override {
    scorer_.store(network.scorer);
    adviser_.store(network.adviser);
    value_.store(network.value);
  }

  std::vector<float> scores(const Rows& rows) const override {
    const torch::NoGradGuard no_gradient;
    return numbers(score(rows));
  }

  double list_step(const ListBatch& batch, const ListSettings& settings) override {
    const Rows& rows = batch.rows;
    const torch::Tensor present = tensor(rows.present, {rows.shapes, rows.width});
    const torch::Tensor values = tensor(batch.values, {rows.shapes, rows.width});
    const torch::Tensor scores = score(rows);
    const torch::Tensor target = masked_softmax(values / settings.temperature, present).exp();
    const torch::Tensor log_guess = masked_softmax(scores / settings.temperature, present);
    const torch::Tensor list = -(target * log_guess * present).sum(1).mean();
    // Only differences within a problem mean anything: both sides around their mean.
    const torch::Tensor count = present.sum(1, true);
    const auto centred = [&](const torch::Tensor& x) {
      return x - (x * present).sum(1, true) / count;
    };
    const torch::Tensor error =
        torch::huber_loss(centred(scores), centred(values), at::Reduction::None, kHuber);
    const torch::Tensor regression = (error * present).sum() / present.sum();
    const torch::Tensor loss = list + settings.regression / kHuber * regression;
    step(loss, settings.rate, settings.rate, settings.weight_decay, kListNorm);
    return loss.item<double>();
  }

  PpoStep ppo_step(const PpoBatch& batch, const PpoSettings& settings) override {
    const std::int64_t states = static_cast<std::int64_t>(batch.shape_of.size());
    const std::int64_t width = batch.rows.width;
    const torch::Tensor scores = score(batch.rows).index_select(0, indices(batch.shape_of));
    const torch::Tensor corrections = tensor(batch.corrections, {states, width});
    const torch::Tensor advice =
        adviser_.apply(tensor(batch.advice, {states * width, policy::kHistoryFeatures}))
            .view({states, width});
    const torch::Tensor open = tensor(batch.open, {states, width});
    const torch::Tensor logits = (scores + corrections) / temperature_ + advice;
    const torch::Tensor log_probabilities = masked_softmax(logits, open);
    const torch::Tensor taken =
        log_probabilities.gather(1, indices(batch.action).unsqueeze(1)).squeeze(1);
    const torch::Tensor before = tensor(batch.log_probability, {states});
    const torch::Tensor advantage = tensor(batch.advantage, {states});
    const torch::Tensor ratio = (taken - before).exp();
    const torch::Tensor policy_loss =
        -torch::min(ratio * advantage,
                    ratio.clamp(1 - settings.clip, 1 + settings.clip) * advantage)
             .mean();
    const torch::Tensor entropy =
        -(log_probabilities.exp() * log_probabilities * open).sum(1).mean();
    const std::int64_t inputs = static_cast<std::int64_t>(batch.state.size()) / states;
    const torch::Tensor guess = value_.apply(tensor(batch.state, {states, inputs}));
    const torch::Tensor value_loss = torch::mse_loss(guess, tensor(batch.returns, {states}));
    const torch::Tensor loss =
        policy_loss + settings.value_weight * value_loss - settings.entropy * entropy;
    step(loss, settings.scorer_rate * settings.rate, settings.rate, 0, settings.gradient_norm);
    return {policy_loss.item<double>(), value_loss.item<double>(), entropy.item<double>(),
            (before - taken).mean().item<double>(),
            ((ratio - 1).abs() > settings.clip).to(torch::kFloat32).mean().item<double>()};
  }

 private:
  torch::Tensor score(const Rows& rows) const {
    const torch::Tensor features =
        tensor(rows.features, {static_cast<std::int64_t>(rows.shapes) * rows.width, mean_.size(0)});
    return scorer_.apply((features - mean_) * scale_).view({rows.shapes, rows.width});
  }

  static torch::Tensor masked_softmax(const torch::Tensor& logits, const torch::Tensor& open) {
    return torch::log_softmax(logits.masked_fill(open == 0, kNever), 1);
  }

  torch::optim::AdamWOptions& options(std::size_t group) {
    return static_cast<torch::optim::AdamWOptions&>(optimizer_->param_groups()[group].options());
  }

  void step(const torch::Tensor& loss, double scorer_rate, double rate, double weight_decay,
            double norm) {
    options(0).lr(scorer_rate).weight_decay(weight_decay);
    options(1).lr(rate).weight_decay(0);
    optimizer_->zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(parameters_, norm);
    optimizer_->step();
  }

  torch::Tensor mean_, scale_;
  double temperature_ = 1;
  Perceptron scorer_, adviser_, value_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
};

}  // namespace
}  // namespace gemmsmith::train

extern "C" __attribute__((visibility("default"))) std::uint32_t gemmsmith_learner_version() {
  return gemmsmith::train::kLearnerVersion;
}

extern "C" __attribute__((visibility("default"))) gemmsmith::train::Learner*
gemmsmith_make_learner() {
  return new gemmsmith::train::TorchLearner();
}
