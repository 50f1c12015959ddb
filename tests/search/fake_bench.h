// fake_bench.h -- a bench over invented figures, for testing the tuner: deterministic, counts its
// calls, and fails where it is told to.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "measure/bench.h"

namespace gemmsmith {

class FakeBench : public Bench {
 public:
  FakeBench();

  const DeviceInfo& device() const override { return device_; }
  Result<std::vector<Measurement>> baselines(const Problem& problem) override;
  Result<std::vector<Config>> vendor_configs(const Problem& problem, int limit) override;
  Result<std::vector<Measurement>> screen(const Problem& problem, std::span<const Config> configs,
                                          Setting setting) override;
  Result<std::vector<Measurement>> finals(const Problem& problem,
                                          std::span<const Config> configs) override;
  Result<CounterReport> count(const Problem& problem, const Subject& subject,
                              CounterScope scope) override;
  Result<LoadReport> sustain(const Problem& problem, const Subject& subject,
                             double seconds) override;
  std::string conditions() const override { return R"({"clock_mhz":1980})"; }

  // The paired ratio of a config; replace to script a story.
  std::function<double(const Problem&, const std::string& config, Stage, Setting)> ratio;
  // Called at the start of every call; an error is passed on.
  std::function<Result<void>(const Problem&, const char* call)> before;
  std::set<std::string> broken;          // configs whose status is wrong
  std::set<std::string> broken_between;  // configs that fail between foreign kernels

  std::map<std::string, std::string> uncountable;  // config -> why its launch fails

  std::map<std::string, int> counted;    // problem and config -> times
  std::map<std::string, int> screened;   // problem and config -> times, back to back
  std::map<std::string, int> semifinal;  // the same between foreign kernels
  double lt_tuned_us = 10;
  std::optional<double> energy_uj;  // of every launch; nothing: no NVML
  int baseline_calls = 0;
  int final_calls = 0;

 private:
  DeviceInfo device_;
};

}  // namespace gemmsmith
