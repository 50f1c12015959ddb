#include "vendor/lt_space.h"

#include <algorithm>
#include <list>
#include <set>
#include <string>

#include "base/numbers.h"
#include "vendor/lt_model.h"

namespace gemmsmith::vendor {
namespace {

// The library's Hopper kernels ("nvjet"), and the K step of 64 with the stage count left to it: 48
// of the 49 configurations that beat the heuristic's list on an H200.
constexpr int kHopperAlgo = 66;
constexpr int kHopperStages = CUBLASLT_MATMUL_STAGES_64xAUTO;

struct Factor {
  int value;
  double factor;
};

// Winners' clusters were 1x1 29 times, 1x2 10, 2x1 7, 4x1 and 4x2 once each; their custom options 0
// and 2 21 times each, 3 five times, 1 twice. The factors are wide enough that a list of 48 holds
// about ten tiles: which tile matters more than the variant around it.
constexpr Factor kClusters[] = {
    {CUBLASLT_CLUSTER_SHAPE_1x1x1, 1.0},  {CUBLASLT_CLUSTER_SHAPE_1x2x1, 1.02},
    {CUBLASLT_CLUSTER_SHAPE_2x1x1, 1.03}, {CUBLASLT_CLUSTER_SHAPE_4x1x1, 1.10},
    {CUBLASLT_CLUSTER_SHAPE_4x2x1, 1.12}, {CUBLASLT_CLUSTER_SHAPE_2x2x1, 1.12},
    {CUBLASLT_CLUSTER_SHAPE_1x4x1, 1.12}};
constexpr Factor kCustomOptions[] = {{0, 1.0}, {2, 1.008}, {3, 1.04}, {1, 1.06}};
constexpr int kSplits[] = {1, 2, 4, 8, 16};
// Full-precision partial sums first; the others round them to the output type.
constexpr Factor kReductions[] = {{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 1.0},
                                  {CUBLASLT_REDUCTION_SCHEME_INPLACE, 1.03},
                                  {CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 1.04}};
constexpr double kHeuristicTileBonus = 0.95;  // a tile that the heuristic names
constexpr double kOtherAlgoPenalty = 1.15;    // over Hopper's kernels, where those exist
constexpr double kOtherStagesPenalty = 1.03;
constexpr double kSwizzlePenalty = 1.02;
constexpr int kMinStepsPerSplit = 2;  // of 64 along K

constexpr int kRefusalsPerTile = 4;  // then the tile with this split is given up

// Asked to learn whether Hopper's kernels take the problem at all; unaligned ones they do not.
constexpr int kProbeTiles[] = {CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_MATMUL_TILE_64x64,
                               CUBLASLT_MATMUL_TILE_32x64};

struct Candidate {
  double score;
  Config config;
};

// Numbers an algorithm's capability query returns as an array.
std::vector<int> capability_list(const LtFunctions& lt, const cublasLtMatmulAlgo_t& algo,
                                 cublasLtMatmulAlgoCapAttributes_t attribute) {
  std::size_t bytes = 0;
  if (lt.MatmulAlgoCapGetAttribute(&algo, attribute, nullptr, 0, &bytes) != CUBLAS_STATUS_SUCCESS)
    return {};
  std::vector<std::uint32_t> raw(bytes / sizeof(std::uint32_t));
  if (raw.empty() ||
      lt.MatmulAlgoCapGetAttribute(&algo, attribute, raw.data(), raw.size() * sizeof raw[0],
                                   &bytes) != CUBLAS_STATUS_SUCCESS)
    return {};
  raw.resize(bytes / sizeof(std::uint32_t));
  return {raw.begin(), raw.end()};
}

int capability(const LtFunctions& lt, const cublasLtMatmulAlgo_t& algo,
               cublasLtMatmulAlgoCapAttributes_t attribute) {
  std::int32_t value = 0;
  std::size_t written = 0;
  if (lt.MatmulAlgoCapGetAttribute(&algo, attribute, &value, sizeof value, &written) !=
      CUBLAS_STATUS_SUCCESS)
    return 0;
  return value;
}

// Scores each tile and split of an algorithm, then the clusters, reductions, custom options and
// swizzles around the best of them.
class Proposals {
 public:
  Proposals(const Problem& problem, const Target& target, const std::vector<Config>& heuristics)
      : view_(column_major(problem)), target_(target) {
    for (const Config& config : heuristics)
      heuristic_tiles_.insert({config.at("algo"), config.at("tile")});
  }

  // Variations of `like`, which gives the rest of the parameters.
  void add(const LtCapabilities& capabilities, const Config& like, double factor) {
    for (const int tile : capabilities.tiles) {
      const TileShape shape = tile_shape(tile);
      if (shape.m == 0 || shape.n == 0) continue;
      if (capabilities.algo == kHopperAlgo && !is_plausible_tile(shape)) continue;
      const bool named = heuristic_tiles_.count({capabilities.algo, tile}) != 0;
      for (const int split : kSplits) {
        if (split > 1 && (!capabilities.split_k || view_.k < split * kMinStepsPerSplit * 64))
          continue;
        const double score = factor * (named ? kHeuristicTileBonus : 1.0) *
                             predicted_cycles(view_, target_, {shape, {1, 1}, split});
        bases_.push_back({score, factor * (named ? kHeuristicTileBonus : 1.0), &capabilities, &like,
                          shape, tile, split});
      }
    }
  }

  // Best first; equal scores in the order of the configs' values, so that runs agree.
  std::vector<Candidate> best(std::size_t most) {
    keep_best(bases_, kMostBases, [](const Base& a, const Base& b) {
      return std::tie(a.score, a.capabilities->algo, a.tile, a.split) <
             std::tie(b.score, b.capabilities->algo, b.tile, b.split);
    });
    std::vector<Candidate> candidates;
    for (const Base& base : bases_) expand(base, candidates);
    keep_best(candidates, most, [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score < b.score : a.config.values < b.config.values;
    });
    return candidates;
  }

 private:
  static constexpr std::size_t kMostBases = 128;

  struct Base {
    double score;
    double factor;
    const LtCapabilities* capabilities;
    const Config* like;
    TileShape shape;
    int tile;
    int split;
  };

  template <class T, class Before>
  static void keep_best(std::vector<T>& all, std::size_t most, Before before) {
    const std::size_t kept = std::min(most, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                      before);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
  }

  void expand(const Base& base, std::vector<Candidate>& candidates) const {
    Config config = *base.like;
    config.set("tile", base.tile);
    config.set("split_k", base.split);
    if (base.split == 1) {
      config.set("reduction", CUBLASLT_REDUCTION_SCHEME_NONE);
      return expand_clusters(base, config, base.factor, candidates);
    }
    for (const auto& [scheme, penalty] : kReductions) {
      if ((base.capabilities->reduction_mask & scheme) == 0) continue;
      config.set("reduction", scheme);
      expand_clusters(base, config, base.factor * penalty, candidates);
    }
  }

  void expand_clusters(const Base& base, Config config, double factor,
                       std::vector<Candidate>& candidates) const {
    if (base.capabilities->algo != kHopperAlgo) {
      const LtCandidateShape shape = {base.shape, {1, 1}, base.split};
      return expand_options(base, config, factor * predicted_cycles(view_, target_, shape),
                            candidates);
    }
    for (const auto& [cluster, penalty] : kClusters) {
      const LtCandidateShape shape = {base.shape, cluster_shape(cluster), base.split};
      // A cluster wider than the grid would idle CTAs.
      if (ceil_div(view_.m, shape.tile.m) < shape.cluster.m ||
          ceil_div(view_.n, shape.tile.n) < shape.cluster.n)
        continue;
      config.set("cluster", cluster);
      expand_options(base, config, factor * penalty * predicted_cycles(view_, target_, shape),
                     candidates);
    }
  }

  static void expand_options(const Base& base, Config config, double score,
                             std::vector<Candidate>& candidates) {
    for (const auto& [option, penalty] : kCustomOptions) {
      if (option > base.capabilities->custom_max) continue;
      config.set("custom", option);
      for (int swizzle = 0; swizzle <= std::min(1, base.capabilities->swizzle_max); ++swizzle) {
        config.set("swizzle", swizzle);
        candidates.push_back({score * penalty * (swizzle == 0 ? 1.0 : kSwizzlePenalty), config});
      }
    }
  }

  ColumnMajor view_;
  const Target& target_;
  std::set<std::pair<int, int>> heuristic_tiles_;  // algorithm, tile
  std::vector<Base> bases_;
};

Config hopper_config() {
  Config config = default_config(cublaslt_family());
  config.set("algo", kHopperAlgo);
  config.set("stages", kHopperStages);
  return config;
}

bool hopper_takes(const LtMatmul& matmul, const std::vector<Config>& heuristics) {
  for (const Config& config : heuristics)
    if (config.at("algo") == kHopperAlgo) return true;
  Config config = hopper_config();
  config.set("cluster", CUBLASLT_CLUSTER_SHAPE_1x1x1);
  for (const int tile : kProbeTiles) {
    config.set("tile", tile);
    if (to_algo(config, matmul)) return true;
  }
  return false;
}

std::vector<Candidate> propose(const LtMatmul& matmul, const Target& target,
                               const std::vector<LtCapabilities>& capabilities,
                               const std::vector<Config>& heuristics, std::size_t most) {
  Proposals proposals(matmul.problem(), target, heuristics);
  const auto find = [&](int algo) {
    return std::find_if(capabilities.begin(), capabilities.end(),
                        [&](const LtCapabilities& c) { return c.algo == algo; });
  };
  std::list<Config> likes;  // addresses stay valid
  const auto hopper = find(kHopperAlgo);
  const bool on_hopper = hopper != capabilities.end() && hopper_takes(matmul, heuristics);
  if (on_hopper) proposals.add(*hopper, likes.emplace_back(hopper_config()), 1.0);
  // The other algorithms only around what the heuristic names: their own space has shown no win.
  const double penalty = on_hopper ? kOtherAlgoPenalty : 1.0;
  std::set<std::pair<int, int>> seen;  // algorithm, stages
  for (const Config& config : heuristics) {
    const auto found = find(config.at("algo"));
    if (found == capabilities.end() || found->algo == kHopperAlgo) continue;
    const std::vector<int> stages =
        found->stages.empty() ? std::vector<int>{config.at("stages")} : found->stages;
    for (const int stage : stages) {
      if (!seen.insert({found->algo, stage}).second) continue;
      Config& like = likes.emplace_back(config);
      like.set("stages", stage);
      proposals.add(*found, like,
                    penalty * (stage == config.at("stages") ? 1.0 : kOtherStagesPenalty));
    }
  }
  return proposals.best(most);
}

}  // namespace

Result<std::vector<LtCapabilities>> LtSpace::capabilities(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_tuple(problem.type, problem.accumulator, problem.output_type());
  if (const auto found = capabilities_.find(key); found != capabilities_.end())
    return found->second;

  const LtFunctions& lt = handle_->lt();
  const cudaDataType_t type = cuda_type(problem.type);
  const cudaDataType_t output = cuda_type(problem.output_type());
  const cublasComputeType_t compute = compute_type(problem.accumulator);
  const cudaDataType_t scale = scale_type(problem.accumulator);
  std::vector<int> ids(256);  // 13.1 has fewer than 100
  int count = 0;
  GEMMSMITH_CHECK(
      check(lt.MatmulAlgoGetIds(handle_->get(), compute, scale, type, type, output, output,
                                static_cast<int>(ids.size()), ids.data(), &count),
            "listing cuBLASLt's algorithms"));
  ids.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(ids.size()))));

  std::vector<LtCapabilities> all;
  for (const int id : ids) {
    cublasLtMatmulAlgo_t algo = {};
    if (lt.MatmulAlgoInit(handle_->get(), compute, scale, type, type, output, output, id, &algo) !=
        CUBLAS_STATUS_SUCCESS)
      continue;
    all.push_back({id, capability_list(lt, algo, CUBLASLT_ALGO_CAP_TILE_IDS),
                   capability_list(lt, algo, CUBLASLT_ALGO_CAP_STAGES_IDS),
                   capability(lt, algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) != 0,
                   capability(lt, algo, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK),
                   capability(lt, algo, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT),
                   capability(lt, algo, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX)});
  }
  capabilities_.emplace(key, all);
  return all;
}

Result<std::vector<Config>> LtSpace::vendor_configs(const LtMatmul& matmul, const Target& target,
                                                    int limit) {
  const auto wanted = static_cast<std::size_t>(std::max(0, limit));
  const std::size_t most_asks = 8 * wanted + 64;
  std::size_t asks = 0;
  std::set<std::vector<int>> seen;
  std::vector<Config> found;

  GEMMSMITH_TRY(const std::vector<LtAlgo> listed, matmul.heuristics(64));
  for (const LtAlgo& algo : listed) {
    GEMMSMITH_TRY(Config config, to_config(handle_->lt(), algo.algo));
    ++asks;
    // Only what its text can build again is a config.
    if (found.size() < wanted && seen.insert(config.values).second && to_algo(config, matmul))
      found.push_back(std::move(config));
  }

  GEMMSMITH_TRY(const std::vector<LtCapabilities> all, capabilities(matmul.problem()));
  struct Tally {
    int refused = 0;
    bool accepted = false;
  };
  std::map<std::tuple<int, int, int>, Tally> tallies;
  for (const Candidate& candidate : propose(matmul, target, all, found, 4 * most_asks)) {
    if (found.size() >= wanted || asks >= most_asks) break;
    const Config& config = candidate.config;
    Tally& tally = tallies[{config.at("algo"), config.at("tile"), config.at("split_k")}];
    if ((!tally.accepted && tally.refused >= kRefusalsPerTile) ||
        !seen.insert(config.values).second)
      continue;
    ++asks;
    if (to_algo(config, matmul)) {
      tally.accepted = true;
      found.push_back(config);
    } else {
      ++tally.refused;
    }
  }
  return found;
}

}  // namespace gemmsmith::vendor
