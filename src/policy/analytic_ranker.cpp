#include "policy/analytic_ranker.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "policy/kernel_catalogue.h"
#include "policy/kernel_model.h"
#include "space/kernel_problem.h"
#include "space/packing.h"

namespace gemmsmith::policy {
namespace {

// Only the best kernels at their plain launch get their launch-time parameters varied; ranking the
// variants of all would take ten times as long and change nothing near the front.
constexpr std::size_t kKernelsVaried = 96;
// Of any beginning of the list, no tile and schedule may take more than this share, no family more
// than that, clusters and splits through the workspace no more than that: the model is wrong
// somewhere, and near-twins would be wrong all at once. The first few are free.
constexpr double kTileShare = 0.12;
constexpr double kFamilyShare = 0.95;
constexpr double kClusterShare = 0.3;
constexpr double kWorkspaceShare = 0.5;
constexpr int kFree = 4;
// Each further variant of a kernel is ranked as if it were this much slower: where the model sees
// no difference between tile orders, other kernels come first.
constexpr double kVariantPenalty = 0.02;
// Loading element by element is some ten times slower than by 16 bytes: for what is over sooner than
// a packing launch. Above this many FLOP it would only cost measuring time.
constexpr double kMostFlopByElements = 1e9;
// And a transposed kernel, so that it comes second where turning changes nothing.
constexpr double kTransposedPenalty = 0.01;

struct Ranked {
  Config config;
  double us = 0;
};

void sort_ranked(std::vector<Ranked>& ranked) {
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.us < b.us; });
}

void set_variants_back(std::vector<Ranked>& ranked) {
  sort_ranked(ranked);
  std::map<std::string, int> variants;
  for (Ranked& entry : ranked) {
    entry.us *= 1 + kVariantPenalty * variants[kernel_text(entry.config)]++;
    if (is_transposed(entry.config)) entry.us *= 1 + kTransposedPenalty;
  }
  sort_ranked(ranked);
}

bool is_hopper(const Config& config) { return config.family == &sm90_ws_family(); }

bool loads_elements(const Config& config) {
  return !is_hopper(config) && config.at("loads") != 0;
}

std::vector<int> values_of(const Config& config, std::string_view parameter) {
  const Family& family = *config.family;
  return family.parameters[static_cast<std::size_t>(family.index_of(parameter))].values;
}

// The launches of a kernel worth a look for a problem; illegal ones are weeded out by the caller.
class LaunchVariants {
 public:
  LaunchVariants(const Problem& problem, const Target& target)
      : problem_(problem), target_(target) {}

  // At a middling tile order: what kernels are compared by. Split-K kernels get every split.
  std::vector<Config> plain(const Config& kernel) const {
    std::vector<Config> launches;
    if (loads_elements(kernel) && problem_.flop() > kMostFlopByElements) return launches;
    for (const int split_k : splits(kernel))
      for (const int persistent : persistences(kernel))
        for (const int pack : packs(kernel)) {
          Config launch = kernel;
          if (is_hopper(kernel)) launch.set("split_k", split_k);
          launch.set("persistent", persistent);
          launch.set("pack", pack);
          launch.set("prefetch", asks_early(launch) ? 1 : 0);
          launches.push_back(std::move(launch));
        }
    return launches;
  }

  // Without programmatic launch: slower back to back, but it may win between foreign kernels.
  static Config without_pdl(Config launch) {
    launch.set("pdl", 0);
    launch.set("prefetch", 0);
    return launch;
  }

  // The same launch in each other tile order; none where all tiles run at once.
  std::vector<Config> orders(const Config& launch) const {
    std::vector<Config> launches = {launch};
    if (tiles(launch) <= target_.sm_count) return launches;
    // The model hardly tells them apart; first those that won most often where it mattered.
    for (const auto& [raster, group] : std::initializer_list<std::pair<int, int>>{
             {0, 16}, {0, 4}, {1, 8}, {1, 16}, {0, 1}, {0, 32}, {0, 8}, {1, 4}, {1, 1}, {1, 32}}) {
      Config other = launch;
      other.set("raster", raster);
      other.set("group", group);
      if (!(other == launch)) launches.push_back(std::move(other));
    }
    return launches;
  }

 private:
  double tiles(const Config& config) const {
    const auto count = [](std::int64_t size, int tile) {
      return static_cast<double>((size + tile - 1) / tile);
    };
    const Problem own = kernel_problem(problem_, config);
    return count(own.m, config.at("tile_m")) * count(own.n, config.at("tile_n")) *
           static_cast<double>(own.is_batched() ? own.batch : 1);
  }

  // Asking L2 early gains where operands are small, so that waiting for the first ones is much of a
  // kernel's time, and where multiplying is the limit, up to some 50 us; it loses a little where
  // memory's bandwidth is (docs/experiments.md, 16). The tuner tries its favourites the other way.
  bool asks_early(const Config& launch) const {
    constexpr double kFewBytes = 6 << 20;
    constexpr double kMostBytes = 64 << 20;
    constexpr double kMuchFlopPerByte = 200;
    if (launch.at("pack") != 0 || loads_elements(launch)) return false;
    const double bytes =
        static_cast<double>((problem_.m + problem_.n) * problem_.k) * size_bytes(problem_.type);
    const double flop =
        2.0 * static_cast<double>(problem_.m * problem_.n) * static_cast<double>(problem_.k);
    return bytes <= kFewBytes || (bytes <= kMostBytes && flop >= kMuchFlopPerByte * bytes);
  }

  // What must be packed, and with it what may gain by it.
  std::vector<int> packs(const Config& kernel) const {
    if (problem_.is_batched() || problem_.grouped || loads_elements(kernel)) return {0};
    const Problem own = kernel_problem(problem_, kernel);
    const int must = needed_pack(own);
    const int may = useful_pack(own);
    if (must == may) return {must};
    return {must, may};
  }

  std::vector<int> splits(const Config& kernel) const {
    if (!is_hopper(kernel) || kernel.at("split") == 0) return {1};
    std::vector<int> splits;
    for (const int split : values_of(kernel, "split_k"))
      // More CTAs than four rounds of the SMs only multiply the reduction.
      if (split > 1 && tiles(kernel) * split <= 4.0 * target_.sm_count) splits.push_back(split);
    return splits;
  }

  std::vector<int> persistences(const Config& kernel) const {
    if (is_hopper(kernel) && kernel.at("schedule") == 1) return {1};
    if (is_hopper(kernel) && kernel.at("split") != 0) return {0};
    if (tiles(kernel) <= target_.sm_count) return {0};
    return {0, 1};
  }

  const Problem& problem_;
  const Target& target_;
};

// Rebuilt only when another target or type is asked for; the list depends on nothing else.
std::vector<Config> catalogue_of(const Target& target, const Problem& problem) {
  using Key = std::tuple<int, int, int, int, DataType, DataType, Layout, bool, bool, bool>;
  static std::mutex mutex;
  static std::map<Key, std::vector<Config>> known;
  const std::lock_guard lock(mutex);
  const Key key{target.compute_capability,
                target.sm_count,
                target.shared_bytes_per_block,
                target.registers_per_sm,
                problem.type,
                problem.accumulator,
                problem.layout,
                problem.is_batched(),
                problem.grouped,
                problem.f32_output};
  auto found = known.find(key);
  if (found == known.end())
    found = known.emplace(key, kernel_catalogue(target, signature_of(problem))).first;
  return found->second;
}

// The part of D that a tile covers: a transposed kernel's is as a plain one's of the turned tile.
std::string tile_of_d(const Config& config) {
  std::string m = std::to_string(config.at("tile_m"));
  std::string n = std::to_string(config.at("tile_n"));
  if (is_transposed(config)) std::swap(m, n);
  return m + "x" + n;
}

// Pingpong and cooperative kernels of one tile have little in common.
std::string schedule(const Config& config) {
  return is_hopper(config) && config.at("schedule") == 1 ? " pingpong" : "";
}

bool is_cluster(const Config& config) {
  return is_hopper(config) && config.at("cluster_m") * config.at("cluster_n") > 1;
}

bool uses_workspace(const Config& config) { return is_hopper(config) && config.at("split") == 2; }

// What a config takes a share of, as numbers.
class Groups {
 public:
  explicit Groups(const std::vector<Ranked>& ranked) {
    for (const Ranked& entry : ranked) {
      const Config& config = entry.config;
      of_.push_back({number("kernel " + kernel_text(config)),
                     number(std::string(config.family->name) + schedule(config) + " tile " +
                            tile_of_d(config)),
                     number("family " + std::string(config.family->name)),
                     is_cluster(config) ? number("cluster") : -1,
                     uses_workspace(config) ? number("workspace") : -1});
    }
    taken_.resize(numbers_.size());
  }

  bool kernel_has_room(std::size_t entry, int per_kernel) const {
    return count(of_[entry].kernel) < per_kernel;
  }
  bool has_room(std::size_t entry, std::size_t list) const {
    const auto fits = [&](int group, double share) {
      const double most = std::max<double>(kFree, share * static_cast<double>(list + 1));
      return count(group) + 1 <= most;
    };
    const Of& of = of_[entry];
    // A family's share is wide: it binds only once the list is long enough to give one away.
    return fits(of.tile, kTileShare) && fits(of.cluster, kClusterShare) &&
           fits(of.workspace, kWorkspaceShare) &&
           (static_cast<double>(list) < 1 / (1 - kFamilyShare) || fits(of.family, kFamilyShare));
  }
  void take(std::size_t entry) {
    const Of& of = of_[entry];
    for (const int group : {of.kernel, of.tile, of.family, of.cluster, of.workspace})
      if (group >= 0) ++taken_[static_cast<std::size_t>(group)];
  }

 private:
  struct Of {
    int kernel, tile, family, cluster, workspace;  // -1: none
  };
  int number(const std::string& name) {
    return numbers_.emplace(name, static_cast<int>(numbers_.size())).first->second;
  }
  int count(int group) const { return group < 0 ? 0 : taken_[static_cast<std::size_t>(group)]; }

  std::map<std::string, int> numbers_;
  std::vector<Of> of_;
  std::vector<int> taken_;
};

// The best entry whose groups have room in the list so far, again and again; where none has, the
// best whose kernel has.
std::vector<Config> take_diverse(const std::vector<Ranked>& ranked, int limit, int per_kernel) {
  Groups groups(ranked);
  std::vector<bool> used(ranked.size());
  std::vector<Config> taken;
  while (static_cast<int>(taken.size()) < limit) {
    std::size_t chosen = ranked.size();
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (used[i] || !groups.kernel_has_room(i, per_kernel)) continue;
      if (groups.has_room(i, taken.size())) {
        chosen = i;
        break;
      }
      if (chosen == ranked.size()) chosen = i;
    }
    if (chosen == ranked.size()) break;
    used[chosen] = true;
    groups.take(chosen);
    taken.push_back(ranked[chosen].config);
  }
  return taken;
}

}  // namespace

double predicted_us(const Problem& problem, const Config& config, const Target& target) {
  return model_us(kernel_problem(problem, config), kernel_shape(config, problem.accumulator),
                  target);
}

std::vector<Config> ranked_configs(const Problem& problem, const Target& target, int limit,
                                   int per_kernel) {
  const SpaceContext context{problem, target};
  const LaunchVariants variants(problem, target);
  std::vector<Ranked> plain;
  for (const Config& kernel : catalogue_of(target, problem))
    for (Config& launch : variants.plain(kernel))
      if (broken_rule(context, launch) == nullptr) {
        const double us = predicted_us(problem, launch, target);
        plain.push_back({std::move(launch), us});
      }
  sort_ranked(plain);

  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i >= kKernelsVaried) {
      ranked.push_back(plain[i]);
      continue;
    }
    for (Config& launch : variants.orders(plain[i].config))
      if (broken_rule(context, launch) == nullptr) {
        const double us = predicted_us(problem, launch, target);
        ranked.push_back({std::move(launch), us});
      }
  }
  // A tiny problem has few legal kernels and no tile order to vary.
  const std::size_t enough = static_cast<std::size_t>(limit);
  for (std::size_t i = 0; ranked.size() < 2 * enough && i < plain.size(); ++i) {
    Config launch = LaunchVariants::without_pdl(plain[i].config);
    const double us = predicted_us(problem, launch, target);
    ranked.push_back({std::move(launch), us});
  }
  set_variants_back(ranked);
  return take_diverse(ranked, limit, per_kernel);
}

}  // namespace gemmsmith::policy
