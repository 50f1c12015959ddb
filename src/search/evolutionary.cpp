#include "search/evolutionary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "search/generator.h"

namespace gemmsmith {
namespace {

// Asked before evolving: the front of the analytic order, so that the start is never worse than the
// ranker, with every third one drawn from anywhere, so that a wrong ranker is found out.
constexpr int kFounders = 12;
constexpr int kFounderFromAnywhere = 3;
// Parents come from this many best results; children that ignore parents altogether; genes of a
// child that take one step to a neighbouring value.
constexpr std::size_t kParents = 6;
constexpr double kFreshShare = 0.1;
constexpr double kStepShare = 0.25;
// Configs of different families share no genes.
constexpr double kFamilyDistance = 100;

// A config as places in its parameters' value lists: neighbouring values differ by 1.
struct Genes {
  const Family* family = nullptr;
  std::vector<double> places;
};

double place_of(const Parameter& parameter, int value) {
  const auto& values = parameter.values;
  const auto found = std::lower_bound(values.begin(), values.end(), value);
  return static_cast<double>(found - values.begin());
}

Genes genes_of(const Config& config) {
  Genes genes{config.family, {}};
  for (std::size_t i = 0; i < config.values.size(); ++i)
    genes.places.push_back(place_of(config.family->parameters[i], config.values[i]));
  return genes;
}

double distance(const Genes& a, const Genes& b) {
  if (a.family != b.family) return kFamilyDistance;
  double sum = 0;
  for (std::size_t i = 0; i < a.places.size(); ++i) sum += std::abs(a.places[i] - b.places[i]);
  return sum;
}

struct Scored {
  std::size_t index = 0;
  double score = 0;
};

class Evolutionary : public Strategy {
 public:
  Evolutionary(const SearchSpace& space, std::uint64_t seed)
      : configs_(space.configs),
        hints_(space.hints),
        asked_(space.configs.size(), false),
        generator_(seed) {
    for (const Config& config : configs_) genes_.push_back(genes_of(config));
  }

  std::string name() const override { return "evolutionary"; }

  std::vector<Config> ask(int count) override {
    std::vector<Config> children;
    for (; count > 0; --count) {
      const auto index = next();
      if (!index) break;
      asked_[*index] = true;
      ++asked_count_;
      children.push_back(configs_[*index]);
    }
    return children;
  }

  void tell(const Config& config, const Measurement& result) override {
    if (result.status != Status::kOk || !(result.median_us > 0)) return;
    const auto found = std::find(configs_.begin(), configs_.end(), config);
    if (found == configs_.end()) return;
    // The paired ratio cancels what clocks did meanwhile; times are the next best thing.
    const double score = result.ratio > 0 ? result.ratio : 1 / result.median_us;
    results_.push_back({static_cast<std::size_t>(found - configs_.begin()), score});
    std::stable_sort(results_.begin(), results_.end(), [](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : a.index < b.index;
    });
  }

 private:
  std::optional<std::size_t> next() {
    if (asked_count_ == configs_.size()) return std::nullopt;
    if (asked_count_ < hints_) return first_unasked();
    if (asked_count_ < static_cast<std::size_t>(kFounders)) {
      const bool anywhere = asked_count_ % kFounderFromAnywhere == kFounderFromAnywhere - 1;
      return anywhere ? random_unasked() : first_unasked();
    }
    if (results_.empty()) return first_unasked();
    if (generator_.unit() < kFreshShare) return random_unasked();
    return nearest_unasked(child());
  }

  std::size_t first_unasked() const {
    return static_cast<std::size_t>(std::find(asked_.begin(), asked_.end(), false) -
                                    asked_.begin());
  }

  std::size_t random_unasked() {
    std::size_t skip = generator_.below(configs_.size() - asked_count_);
    for (std::size_t i = 0;; ++i) {
      if (asked_[i]) continue;
      if (skip-- == 0) return i;
    }
  }

  // Better ones are likelier: the smaller of two draws.
  const Genes& parent() {
    const std::size_t count = std::min(kParents, results_.size());
    const std::size_t place = std::min(generator_.below(count), generator_.below(count));
    return genes_[results_[place].index];
  }

  Genes child() {
    Genes genes = parent();
    const Genes& other = parent();
    const bool crossed = other.family == genes.family;
    for (std::size_t i = 0; i < genes.places.size(); ++i) {
      if (crossed && generator_.below(2) == 0) genes.places[i] = other.places[i];
      if (generator_.unit() < kStepShare) genes.places[i] += generator_.below(2) == 0 ? -1 : 1;
    }
    return genes;
  }

  // Ties go to the better rank: the list is in analytic order.
  std::size_t nearest_unasked(const Genes& wanted) const {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      if (asked_[i]) continue;
      const double far = distance(genes_[i], wanted);
      if (far < least) {
        least = far;
        nearest = i;
      }
    }
    return nearest;
  }

  std::vector<Config> configs_;
  std::size_t hints_;
  std::vector<Genes> genes_;
  std::vector<bool> asked_;
  std::size_t asked_count_ = 0;
  std::vector<Scored> results_;  // best first
  Generator generator_;
};

}  // namespace

std::unique_ptr<Strategy> make_evolutionary(const SearchSpace& space, std::uint64_t seed) {
  return std::make_unique<Evolutionary>(space, seed);
}

}  // namespace gemmsmith
