// model_bench.h -- a Bench for a card that is not here: times from the analytic models, each with
// the interval that the same prediction had to have to hold 95 % of what was measured on an H200.
// A starting point, never a measurement: its rows are of an environment of their own, and nothing
// that serves is made from them.
#pragma once

#include <memory>
#include <string_view>

#include "measure/bench.h"

namespace gemmsmith {

// Measured over predicted time, and how it was found: docs/model_device.md.
struct PredictionInterval {
  double low = 1;
  double high = 1;
};
constexpr PredictionInterval kKernelInterval = {0.72, 1.30};
constexpr PredictionInterval kLtTunedInterval = {0.80, 1.30};

class ModelBench : public Bench {
 public:
  explicit ModelBench(const Target& target);

  const DeviceInfo& device() const override { return info_; }
  // lt_tuned alone: nothing is known of the others.
  Result<std::vector<Measurement>> baselines(const Problem& problem) override;
  // None: which algorithms the library has, only the library knows.
  Result<std::vector<Config>> vendor_configs(const Problem& problem, int limit) override;
  // A config that is not legal for the problem on this card fails with the rule.
  Result<std::vector<Measurement>> screen(const Problem& problem, std::span<const Config> configs,
                                          Setting setting) override;
  Result<std::vector<Measurement>> finals(const Problem& problem,
                                          std::span<const Config> configs) override;
  std::string conditions() const override;

 private:
  Measurement predict(const Problem& problem, const Config& config, Stage stage, Setting setting,
                      double lt_us) const;

  DeviceInfo info_;
};

// Whether an environment's fingerprint is of a model, so that what it holds was never measured.
bool is_predicted(std::string_view fingerprint);

}  // namespace gemmsmith
