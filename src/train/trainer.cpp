#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "base/interrupt.h"
#include "policy/features.h"
#include "search/generator.h"
#include "train/likeness_fit.h"
#include "train/ppo_rollout.h"
#include "train/replay.h"

namespace gemmsmith::train {
namespace {

constexpr int kMonitorEvery = 5;  // steps between points of the curve
constexpr int kMonitorBudgets[] = {1, 4, 16};

// A sequence of its own for each purpose, so that one more draw in one stage moves no other.
Generator generator_for(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0) {
  return Generator(hash64(fmt::format("{} {} {}", seed, purpose, index)));
}

// Uniform with He's variance; `gain` shrinks a last layer that is to start near zero.
policy::Layer make_layer(int inputs, int outputs, double gain, Generator& generator) {
  policy::Layer layer{inputs, outputs, {}, std::vector<float>(static_cast<std::size_t>(outputs))};
  const double bound = gain * std::sqrt(6.0 / inputs);
  for (int i = 0; i < inputs * outputs; ++i)
    layer.weights.push_back(static_cast<float>(bound * (2 * generator.unit() - 1)));
  return layer;
}

template <class Item>
void shuffle(std::vector<Item>& items, Generator& generator) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[generator.below(i)]);
}

// Mean and deviation of each feature over the training rows.
void fit_scaling(policy::Network& network, const std::vector<const Shape*>& shapes) {
  const std::size_t width = policy::feature_count();
  std::vector<double> sum(width), squares(width);
  double rows = 0;
  for (const Shape* const shape : shapes)
    for (std::size_t i = 0; i < shape->features.size(); ++i) {
      const double x = shape->features[i];
      sum[i % width] += x;
      squares[i % width] += x * x;
      if (i % width == 0) ++rows;
    }
  network.mean.resize(width);
  network.scale.resize(width);
  for (std::size_t i = 0; i < width; ++i) {
    const double mean = sum[i] / rows;
    const double deviation = std::sqrt(std::max(squares[i] / rows - mean * mean, 0.0));
    network.mean[i] = static_cast<float>(mean);
    network.scale[i] = deviation > 1e-4 ? static_cast<float>(1 / deviation) : 0.0F;
  }
}

policy::Network make_network(const TrainConfig& config, const std::vector<const Shape*>& shapes) {
  policy::Network network;
  fit_scaling(network, shapes);
  Generator generator = generator_for(config.seed, "weights");
  const auto features = static_cast<int>(policy::feature_count());
  network.scorer = {make_layer(features, config.hidden, 1, generator),
                    make_layer(config.hidden, config.hidden, 1, generator),
                    make_layer(config.hidden, 1, 0.1, generator)};
  network.adviser = {make_layer(policy::kHistoryFeatures, config.adviser_hidden, 1, generator),
                     make_layer(config.adviser_hidden, 1, 0.01, generator)};
  network.value = {make_layer(state_width(), config.value_hidden, 1, generator),
                   make_layer(config.value_hidden, 1, 0.01, generator)};
  network.temperature = static_cast<float>(config.temperature);
  return network;
}

Rows rows_of(std::span<const Shape* const> shapes) {
  Rows rows;
  rows.shapes = static_cast<int>(shapes.size());
  for (const Shape* const shape : shapes)
    rows.width = std::max(rows.width, static_cast<int>(shape->size()));
  const std::size_t features = policy::feature_count();
  for (const Shape* const shape : shapes) {
    const auto padding = static_cast<std::size_t>(rows.width) - shape->size();
    rows.features.insert(rows.features.end(), shape->features.begin(), shape->features.end());
    // The first config's features again: in range, and masked out.
    for (std::size_t i = 0; i < padding; ++i)
      rows.features.insert(rows.features.end(), shape->features.begin(),
                           shape->features.begin() + static_cast<std::ptrdiff_t>(features));
    rows.present.insert(rows.present.end(), shape->size(), 1.0F);
    rows.present.insert(rows.present.end(), padding, 0.0F);
  }
  return rows;
}

ListBatch list_batch(std::span<const Shape* const> shapes, double value_floor) {
  ListBatch batch;
  batch.rows = rows_of(shapes);
  for (const Shape* const shape : shapes) {
    for (const MeasuredConfig& config : shape->configs)
      batch.values.push_back(std::max(config.value - shape->best, static_cast<float>(value_floor)));
    batch.values.resize(
        batch.values.size() + static_cast<std::size_t>(batch.rows.width) - shape->size(), 0.0F);
  }
  return batch;
}

// Leave-one-out within a problem: each search against the mean of its siblings at the same step,
// of what the value head left unexplained.
void set_advantages(std::vector<std::vector<Visit>>& siblings) {
  const std::size_t steps = siblings.front().size();
  const auto others = static_cast<float>(siblings.size() - 1);
  for (std::size_t t = 0; t < steps; ++t) {
    float sum = 0;
    for (const auto& search : siblings) sum += search[t].returns - search[t].value;
    for (auto& search : siblings) {
      const float mine = search[t].returns - search[t].value;
      search[t].advantage = mine - (sum - mine) / others;
    }
  }
}

void normalise_advantages(PpoBatch& batch) {
  const auto count = static_cast<float>(batch.advantage.size());
  const float mean = std::accumulate(batch.advantage.begin(), batch.advantage.end(), 0.0F) / count;
  float squares = 0;
  for (const float x : batch.advantage) squares += (x - mean) * (x - mean);
  const float deviation = std::sqrt(squares / count);
  for (float& x : batch.advantage) x = (x - mean) / (deviation + 1e-6F);
}

TrainEvent event_at(const char* stage, int step, int steps) {
  TrainEvent event;
  event.stage = stage;
  event.step = step;
  event.steps = steps;
  return event;
}

class Training {
 public:
  Training(const TrainConfig& config, Learner& learner, const TrainCallback& callback)
      : config_(config), learner_(learner), callback_(callback) {}

  Result<Trained> run(const Dataset& dataset) {
    GEMMSMITH_TRY(const HoldOut hold_out, HoldOut::parse(config_.hold_out));
    Trained trained;
    for (const Shape& shape : dataset.shapes) {
      if (hold_out.holds(shape.problem)) {
        ++trained.held_out_problems;
        continue;
      }
      ++trained.training_problems;
      shapes_.push_back(&shape);
    }
    if (config_.shuffled_labels) shuffle_labels();
    split_off_monitor();
    if (shapes_.empty() || monitor_.empty())
      return fail(ErrorCode::kBadInput,
                  "hold-out {} leaves {} of {} recorded problems: too few to train on",
                  config_.hold_out, trained.training_problems, dataset.shapes.size());
    network_ = make_network(config_, shapes_);
    learner_.load(network_);
    GEMMSMITH_CHECK(learn_lists());
    network_.likeness = fit_likeness(network_, monitor_);
    report(event_at("likeness", 1, 1));
    trained.listwise = network_;
    trained.listwise.adviser.clear();
    learner_.load(network_);
    GEMMSMITH_CHECK(learn_searches());
    trained.network = network_;
    return trained;
  }

 private:
  void shuffle_labels() {
    Generator generator = generator_for(config_.seed, "shuffled labels");
    shuffled_.reserve(shapes_.size());
    for (const Shape*& shape : shapes_) {
      Shape copy = *shape;
      std::vector<std::size_t> order(copy.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      shuffle(order, generator);
      for (std::size_t i = 0; i < order.size(); ++i) {
        copy.configs[i].value = shape->configs[order[i]].value;
        copy.configs[i].repeats = shape->configs[order[i]].repeats;
      }
      shuffled_.push_back(std::move(copy));
      shape = &shuffled_.back();
    }
  }

  void split_off_monitor() {
    std::vector<const Shape*> order = shapes_;
    Generator generator = generator_for(config_.seed, "monitor");
    shuffle(order, generator);
    const auto count = static_cast<std::size_t>(
        std::ceil(config_.monitor_share * static_cast<double>(order.size())));
    monitor_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    shapes_.assign(order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  }

  void report(TrainEvent event) {
    const bool last = event.step == event.steps;
    if (event.step % kMonitorEvery == 0 || last) {
      policy::Network shown = network_;
      if (std::string_view(event.stage) != "ppo") shown.adviser.clear();
      const std::vector<Quality> found = quality(shown, monitor_, kMonitorBudgets);
      event.after_1 = found[0].mean;
      event.after_4 = found[1].mean;
      event.after_16 = found[2].mean;
    }
    if (callback_) callback_(event);
  }

  static Result<void> check_stop() {
    if (interrupted()) return fail(ErrorCode::kInterrupted, "training was interrupted");
    return {};
  }

  Result<void> learn_lists() {
    const auto step_shapes = static_cast<std::size_t>(config_.list_shapes);
    const auto steps_an_epoch = (shapes_.size() + step_shapes - 1) / step_shapes;
    const double steps = static_cast<double>(steps_an_epoch) * config_.list_epochs;
    double done = 0;
    for (int epoch = 0; epoch < config_.list_epochs; ++epoch) {
      GEMMSMITH_CHECK(check_stop());
      std::vector<const Shape*> order = shapes_;
      Generator generator = generator_for(config_.seed, "list", static_cast<std::uint64_t>(epoch));
      shuffle(order, generator);
      double loss = 0;
      for (std::size_t first = 0; first < order.size(); first += step_shapes) {
        const std::span<const Shape* const> all(order);
        ListSettings settings = config_.list;
        settings.rate *= 0.5 * (1 + std::cos(3.14159265358979 * done / steps));
        loss += learner_.list_step(
            list_batch(all.subspan(first, std::min(step_shapes, order.size() - first)),
                       config_.value_floor),
            settings);
        ++done;
      }
      learner_.store(network_);
      TrainEvent event = event_at("list", epoch + 1, config_.list_epochs);
      event.loss = loss / static_cast<double>(steps_an_epoch);
      report(event);
    }
    return {};
  }

  Result<void> learn_searches() {
    for (int iteration = 0; iteration < config_.ppo_iterations; ++iteration) {
      GEMMSMITH_CHECK(check_stop());
      learn_from_searches(iteration);
    }
    return {};
  }

  void learn_from_searches(int iteration) {
    const double progress = static_cast<double>(iteration) / config_.ppo_iterations;
    Generator generator = generator_for(config_.seed, "ppo", static_cast<std::uint64_t>(iteration));
    std::vector<const Shape*> chosen = shapes_;
    shuffle(chosen, generator);
    chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(config_.ppo_shapes)));

    std::vector<std::vector<std::vector<Visit>>> searches;  // problem, sibling, step
    double reward = 0;
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      const int budget = config_.ppo_budgets[generator.below(config_.ppo_budgets.size())];
      const RolloutSettings settings{budget, config_.reward_low, config_.reward_high};
      std::vector<std::vector<Visit>> siblings;
      for (int r = 0; r < config_.ppo_rollouts; ++r) {
        siblings.push_back(roll_out(network_, *chosen[s], settings, generator));
        reward += siblings.back().front().returns;
      }
      set_advantages(siblings);
      searches.push_back(std::move(siblings));
    }
    PpoSettings ppo = config_.ppo;
    ppo.rate *= 1 - progress;
    ppo.entropy += (config_.entropy_end - ppo.entropy) * progress;
    TrainEvent event = event_at("ppo", iteration + 1, config_.ppo_iterations);
    event.explained = explained_variance(searches);
    update(chosen, searches, ppo, generator, event);
    learner_.store(network_);
    event.reward = reward / static_cast<double>(chosen.size()) / config_.ppo_rollouts;
    report(event);
  }

  static double explained_variance(const std::vector<std::vector<std::vector<Visit>>>& searches) {
    double n = 0, sum = 0, squares = 0, errors = 0;
    for (const auto& siblings : searches)
      for (const auto& search : siblings)
        for (const Visit& visit : search) {
          ++n;
          sum += visit.returns;
          squares += static_cast<double>(visit.returns) * visit.returns;
          errors += std::pow(visit.returns - visit.value, 2);
        }
    const double variance = squares / n - sum / n * (sum / n);
    return variance > 0 ? 1 - errors / n / variance : 0;
  }

  // Several passes over minibatches of whole problems; a pass that moved the policy too far is the
  // last.
  void update(const std::vector<const Shape*>& chosen,
              const std::vector<std::vector<std::vector<Visit>>>& searches,
              const PpoSettings& settings, Generator& generator, TrainEvent& event) {
    std::vector<std::size_t> order(chosen.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto minibatches =
        std::min(static_cast<std::size_t>(config_.ppo_minibatches), order.size());
    for (int epoch = 0; epoch < config_.ppo_epochs; ++epoch) {
      shuffle(order, generator);
      double divergence = 0;
      for (std::size_t b = 0; b < minibatches; ++b) {
        const std::size_t first = order.size() * b / minibatches;
        const std::size_t last = order.size() * (b + 1) / minibatches;
        PpoBatch batch = ppo_batch(chosen, searches, std::span(order).subspan(first, last - first));
        normalise_advantages(batch);
        event.ppo = learner_.ppo_step(batch, settings);
        divergence += event.ppo.divergence / static_cast<double>(minibatches);
      }
      event.loss = event.ppo.policy_loss;
      if (divergence > config_.kl_stop) break;
    }
  }

  static PpoBatch ppo_batch(const std::vector<const Shape*>& chosen,
                            const std::vector<std::vector<std::vector<Visit>>>& searches,
                            std::span<const std::size_t> problems) {
    std::vector<const Shape*> shapes;
    for (const std::size_t problem : problems) shapes.push_back(chosen[problem]);
    PpoBatch batch;
    batch.rows = rows_of(shapes);
    const auto width = static_cast<std::size_t>(batch.rows.width);
    const auto padded = [&](std::vector<float>& to, const std::vector<float>& from,
                            std::size_t each) {
      to.insert(to.end(), from.begin(), from.end());
      to.resize(to.size() + width * each - from.size(), 0.0F);
    };
    for (std::size_t s = 0; s < problems.size(); ++s)
      for (const auto& search : searches[problems[s]])
        for (const Visit& visit : search) {
          batch.shape_of.push_back(static_cast<std::int64_t>(s));
          padded(batch.corrections, visit.corrections, 1);
          padded(batch.advice, visit.advice, policy::kHistoryFeatures);
          padded(batch.open, visit.open, 1);
          batch.state.insert(batch.state.end(), visit.state.begin(), visit.state.end());
          batch.action.push_back(static_cast<std::int64_t>(visit.action));
          batch.log_probability.push_back(visit.log_probability);
          batch.advantage.push_back(visit.advantage);
          batch.returns.push_back(visit.returns);
        }
    return batch;
  }

  const TrainConfig& config_;
  Learner& learner_;
  const TrainCallback& callback_;
  std::vector<const Shape*> shapes_, monitor_;
  std::vector<Shape> shuffled_;
  policy::Network network_;
};

}  // namespace

Result<Trained> train(const Dataset& dataset, const TrainConfig& config, Learner& learner,
                      const TrainCallback& callback) {
  return Training(config, learner, callback).run(dataset);
}

}  // namespace gemmsmith::train
