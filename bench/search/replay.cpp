// replay.cpp -- the product's own strategies on a recording, one configuration at a time: which
// configs each asks for, problem by problem and seed by seed. bench/search/compare.py judges them
// beside the peers, by the same rules.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "base/hash.h"
#include "policy/policy_file.h"
#include "search/strategy.h"
#include "train/dataset.h"

namespace gemmsmith {
namespace {

struct Options {
  std::string recording, hold_out = "random:0/5", strategy = "policy", policy;
  int budget = 64;
  int seeds = 1;
  int round = 1;
};

struct Asked {
  std::size_t config = 0;
  float seen = 0;  // drawn from the recorded repeats
};

std::vector<Asked> search(Strategy& strategy, const train::Shape& shape, const Options& options,
                          std::uint64_t noise) {
  std::vector<Asked> choices;
  while (static_cast<int>(choices.size()) < options.budget) {
    const int left = options.budget - static_cast<int>(choices.size());
    const std::vector<Config> asked = strategy.ask(std::min(options.round, left));
    if (asked.empty()) break;
    for (const Config& config : asked) {
      const auto found = std::find_if(
          shape.configs.begin(), shape.configs.end(),
          [&](const train::MeasuredConfig& measured) { return measured.config == config; });
      const float seen = train::drawn_value(*found, noise);
      choices.push_back({static_cast<std::size_t>(found - shape.configs.begin()), seen});
      Measurement result;
      result.problem = shape.problem;
      result.ratio = std::exp(static_cast<double>(seen));
      result.median_us = 1 / result.ratio;
      strategy.tell(config, result);
    }
  }
  return choices;
}

Result<int> run(const Options& options) {
  GEMMSMITH_TRY(const RecordedDevice device, RecordedDevice::open(options.recording));
  GEMMSMITH_TRY(const train::Dataset dataset, train::make_dataset(device));
  GEMMSMITH_TRY(const train::HoldOut hold_out, train::HoldOut::parse(options.hold_out));
  SearchSpace space;
  space.target = dataset.target;
  space.budget = options.budget;
  if (!options.policy.empty()) {
    GEMMSMITH_TRY(policy::PolicyFile file, policy::read_policy(options.policy));
    space.policy = std::make_shared<const policy::Network>(std::move(file.network));
  }
  fmt::print("shape,seed,choices,seen\n");
  for (const train::Shape& shape : dataset.shapes) {
    if (!hold_out.holds(shape.problem)) continue;
    space.problem = shape.problem;
    space.configs.clear();
    for (const train::MeasuredConfig& config : shape.configs)
      space.configs.push_back(config.config);
    for (int seed = 1; seed <= options.seeds; ++seed) {
      const std::uint64_t random = hash64(fmt::format("{} {}", shape_name(shape.problem), seed));
      GEMMSMITH_TRY(const auto strategy, make_strategy(options.strategy, space, random));
      std::string choices, seen;
      for (const Asked& asked : search(*strategy, shape, options, random)) {
        const char* const gap = choices.empty() ? "" : ";";
        choices += fmt::format("{}{}", gap, asked.config);
        seen += fmt::format("{}{:.5f}", gap, asked.seen);
      }
      fmt::print("{},{},{},{}\n", shape_name(shape.problem), seed, choices, seen);
    }
  }
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int count, char** arguments) {
  gemmsmith::Options options;
  CLI::App app("Strategies on a recording: shape,seed,choices,seen on stdout");
  app.add_option("--recording", options.recording)->required();
  app.add_option("--hold-out", options.hold_out, "Which problems [random:0/5]");
  app.add_option("--strategy", options.strategy, "As of gemmsmith tune [policy]");
  app.add_option("--policy", options.policy, "The policy's file");
  app.add_option("--budget", options.budget, "[64]");
  app.add_option("--seeds", options.seeds, "[1]");
  app.add_option("--round", options.round, "Configs asked at once [1]");
  CLI11_PARSE(app, count, arguments);
  const auto result = gemmsmith::run(options);
  if (!result) std::cerr << result.error().what << "\n";
  return result ? *result : gemmsmith::exit_code(result.error().code);
}
