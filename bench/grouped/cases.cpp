#include "grouped/cases.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace gemmsmith::grouped {
namespace {

struct Layer {
  const char* model;
  int experts;
  int experts_a_token;
  std::int64_t n;
  std::int64_t k;
};

// Gate and up projections side by side, then the down projection.
constexpr Layer kLayers[] = {
    {"Mixtral 8x7B up", 8, 2, 2 * 14336, 4096},  {"Mixtral 8x7B down", 8, 2, 4096, 14336},
    {"Qwen3-30B-A3B up", 128, 8, 2 * 768, 2048}, {"Qwen3-30B-A3B down", 128, 8, 2048, 768},
    {"DeepSeek-V3 up", 256, 8, 2 * 2048, 7168},  {"DeepSeek-V3 down", 256, 8, 7168, 2048},
};
constexpr int kTokens[] = {64, 512, 4096};

// `total` rows over the groups: the i-th most popular gets a share of 1 / i.
std::vector<std::int32_t> zipf_ends(int groups, int total, std::mt19937_64& random) {
  std::vector<int> rank(static_cast<std::size_t>(groups));
  std::iota(rank.begin(), rank.end(), 1);
  for (std::size_t i = rank.size() - 1; i > 0; --i)
    std::swap(rank[i], rank[static_cast<std::size_t>(random() % (i + 1))]);
  double sum = 0;
  for (const int r : rank) sum += 1.0 / r;
  // Rounding the ends, not the shares, gives every row to a group.
  std::vector<std::int32_t> ends;
  double share = 0;
  for (const int r : rank) {
    share += 1.0 / r;
    ends.push_back(static_cast<std::int32_t>(std::lround(total * share / sum)));
  }
  ends.back() = total;
  return ends;
}

}  // namespace

std::vector<Case> all_cases(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Case> cases;
  for (const Layer& layer : kLayers)
    for (const int tokens : kTokens) {
      Case made;
      made.model = layer.model;
      const int rows = tokens * layer.experts_a_token;
      made.problem.m = rows;
      made.problem.n = layer.n;
      made.problem.k = layer.k;
      made.problem.batch = layer.experts;
      made.problem.grouped = true;
      made.problem.type = DataType::kBf16;
      made.problem = *make_problem(made.problem);
      made.ends = zipf_ends(layer.experts, rows, random);
      cases.push_back(std::move(made));
    }
  return cases;
}

}  // namespace gemmsmith::grouped
