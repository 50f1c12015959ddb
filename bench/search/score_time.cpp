// score_time.cpp -- how long the policy takes to rate a problem's configs on one core: features and
// forward pass, as `tune --policy` does before its first measurement.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/statistics.h"
#include "policy/analytic_ranker.h"
#include "policy/features.h"
#include "policy/policy_file.h"
#include "problem/target.h"

namespace gemmsmith {
namespace {

constexpr std::size_t kConfigs = 500;
constexpr int kRepeats = 201;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

Result<int> run(const std::string& path) {
  GEMMSMITH_TRY(const policy::PolicyFile file, policy::read_policy(path));
  Problem problem;
  problem.m = problem.n = problem.k = 4096;
  GEMMSMITH_TRY(problem, make_problem(problem));
  GEMMSMITH_TRY(const Target target, known_target("h200"));
  const std::vector<Config> configs =
      policy::ranked_configs(problem, target, static_cast<int>(kConfigs), 12);
  const std::size_t width = policy::feature_count();
  std::vector<float> rows(configs.size() * width);
  std::vector<double> features_us, score_us, both_us;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    const policy::FeatureRows features(problem, target);
    for (std::size_t i = 0; i < configs.size(); ++i)
      features.fill(configs[i], std::span(rows).subspan(i * width, width));
    features_us.push_back(microseconds_since(start));
    const auto middle = std::chrono::steady_clock::now();
    const policy::Scores scores = policy::score_rows(file.network, rows);
    score_us.push_back(microseconds_since(middle));
    both_us.push_back(microseconds_since(start));
    if (scores.score.size() != configs.size()) return 1;
  }
  fmt::print("{} configs, {} features: features {:.0f} us, network {:.0f} us, together {:.0f} us\n",
             configs.size(), width, median(features_us), median(score_us), median(both_us));
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: search_score_time POLICY\n";
    return 2;
  }
  const auto result = gemmsmith::run(arguments[1]);
  if (!result) std::cerr << result.error().what << "\n";
  return result ? *result : gemmsmith::exit_code(result.error().code);
}
