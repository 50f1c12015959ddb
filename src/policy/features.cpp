// The list below is the only place that names a feature, says what it means and computes it.
// Sizes enter as logarithms: a factor of two means the same for a small and a large product.
#include "policy/features.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/hash.h"
#include "base/numbers.h"
#include "policy/kernel_model.h"
#include "space/kernel_problem.h"
#include "space/lt_tiles.h"

namespace gemmsmith::policy {
namespace {

// Raised when a feature's meaning changes under its old name, the time model's included; policies
// are then trained again. 2: the SMs that clusters of 3 and more can use, as asked of the driver.
// 3: asking L2 early, splits through a workspace and the transposed product.
constexpr int kFeatureVersion = 3;

// What the vendor's algorithms do not tell of themselves.
struct VendorFacts {
  int custom = 0;
  int reduction = 0;
  bool usual_stages = true;  // K steps of 64, the number left to the library
};

// All that a feature may look at.
struct Facts {
  Problem problem;  // as the kernel computes it
  const Target& target;
  KernelShape kernel;  // of a vendor algorithm: what its tile and cluster imply
  bool vendor = false;
  VendorFacts lt;
  double tiles_m = 0, tiles_n = 0, tiles = 0;
  double ctas = 0;
  double resident = 1;  // CTAs an SM holds
  double waves = 0;
  double k_tiles = 0;  // of one CTA
  double model_us = 0;
  double floor_us = 0;
};

double log2_of(double value) { return std::log2(std::max(value, 1e-9)); }

// Values of a config by a parameter's place in its family, found once: rows are made by the
// hundred, and names are compared letter by letter.
class Places {
 public:
  explicit Places(const Family& family, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) places_.push_back(family.index_of(name));
  }
  int value(const Config& config, std::size_t name, int absent) const {
    const int place = places_[name];
    return place < 0 ? absent : config.values[static_cast<std::size_t>(place)];
  }

 private:
  std::vector<int> places_;
};

// The library picks the stages of its usual kernels: as many as fit beside the output tile.
int stages_that_fit(int tile_m, int tile_n, const Target& target) {
  const int stage = std::max(1, (tile_m + tile_n) * 64 * 2);
  return std::clamp((target.shared_bytes_per_block - tile_m * tile_n) / stage, 2, 8);
}

// The library's tiles are column-major: its rows are our columns.
void read_vendor(const Config& config, Facts& facts) {
  const Places places(*config.family,
                      {"tile", "cluster", "split_k", "custom", "reduction", "stages", "algo"});
  const TileShape tile = tile_shape(places.value(config, 0, 0));
  const TileShape cluster = cluster_shape(places.value(config, 1, 0));
  KernelShape& kernel = facts.kernel;
  kernel.wgmma = true;
  kernel.tile_m = std::max(tile.n, 8);
  kernel.tile_n = std::max(tile.m, 8);
  kernel.tile_k = 64;
  kernel.stages = stages_that_fit(kernel.tile_m, kernel.tile_n, facts.target);
  kernel.consumers = kernel.tile_m * kernel.tile_n >= 128 * 64 ? 2 : 1;
  kernel.stores_by_tma = true;
  kernel.cluster_m = std::max(cluster.n, 1);
  kernel.cluster_n = std::max(cluster.m, 1);
  kernel.split_k = std::max(places.value(config, 2, 1), 1);
  kernel.pdl = false;
  kernel.threads = 128 * kernel.consumers + 128;
  kernel.registers = 168;
  kernel.shared_bytes = kernel.stages * (kernel.tile_m + kernel.tile_n) * kernel.tile_k * 2 +
                        kernel.tile_m * kernel.tile_n;
  facts.vendor = true;
  facts.lt.custom = places.value(config, 3, 0);
  facts.lt.reduction = places.value(config, 4, 0);
  constexpr int kAutoStagesOf64 = 35;  // CUBLASLT_MATMUL_STAGES_64xAUTO
  constexpr int kHopperAlgo = 66;
  facts.lt.usual_stages =
      places.value(config, 5, 0) == kAutoStagesOf64 && places.value(config, 6, 0) == kHopperAlgo;
}

double floor_us(const Problem& problem, const Target& target) {
  const double tensor_flop_per_s = target.sm_count * 4096.0 * target.sm_clock_mhz * 1e6;
  const double compute = problem.flop() / std::max(tensor_flop_per_s, 1.0);
  const double memory = problem.min_bytes() / std::max(target.memory_bytes_per_s, 1.0);
  constexpr double kLaunchUs = 0.6;
  return std::max(kLaunchUs, std::max(compute, memory) * 1e6);
}

Facts facts_of(const Problem& asked, const Config& config, const Target& target) {
  const Problem problem = kernel_problem(asked, config);
  Facts facts{problem, target, {}, false, {}, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  const bool ours = config.family == &sm90_ws_family() || config.family == &sm80_mma_family();
  if (ours)
    facts.kernel = kernel_shape(config, problem.accumulator);
  else
    read_vendor(config, facts);
  const KernelShape& kernel = facts.kernel;
  const auto tiles = [](std::int64_t size, int tile, int cluster) {
    return static_cast<double>(round_up(ceil_div(std::max<std::int64_t>(size, 1), tile), cluster));
  };
  facts.tiles_m = tiles(problem.m, kernel.tile_m, kernel.cluster_m);
  facts.tiles_n = tiles(problem.n, kernel.tile_n, kernel.cluster_n);
  facts.tiles =
      facts.tiles_m * facts.tiles_n * static_cast<double>(problem.is_batched() ? problem.batch : 1);
  facts.ctas = facts.tiles * kernel.split_k;
  const int by_shared = target.shared_bytes_per_sm / (kernel.shared_bytes + 1024);
  const int by_threads = target.max_threads_per_sm / std::max(kernel.threads, 32);
  const int by_registers = target.registers_per_sm / std::max(kernel.threads * kernel.registers, 1);
  facts.resident = std::clamp(std::min({by_shared, by_threads, by_registers}), 1, 32);
  facts.waves = facts.ctas / std::max(target.sm_count * facts.resident, 1.0);
  facts.k_tiles = static_cast<double>(
      ceil_div(ceil_div(std::max<std::int64_t>(problem.k, 1), kernel.tile_k), kernel.split_k));
  facts.model_us = model_us(problem, kernel, target);
  facts.floor_us = floor_us(problem, target);
  return facts;
}

double bytes_per_fma(const Facts& f) { return 2.0 / f.kernel.tile_m + 2.0 / f.kernel.tile_n; }

// Of the operand bytes that a cluster's CTAs would read alone.
double multicast_saving(const Facts& f) {
  const double alone = f.kernel.tile_m + f.kernel.tile_n;
  const double shared = static_cast<double>(f.kernel.tile_m) / f.kernel.cluster_n +
                        static_cast<double>(f.kernel.tile_n) / f.kernel.cluster_m;
  return 1 - shared / alone;
}

double split_traffic(const Facts& f) {
  const double partials = static_cast<double>(f.problem.m) * static_cast<double>(f.problem.n) *
                          static_cast<double>(f.problem.batch) * 4 * (f.kernel.split_k - 1);
  return std::log1p(partials / std::max(f.problem.min_bytes(), 1.0));
}

double tail_waste(double units, double slots) {
  const double waves = units / std::max(slots, 1.0);
  return std::log2(std::ceil(waves) / std::max(waves, 1e-9));
}

// Filled lanes: what rounding a size up to whole tiles wastes.
double padding(double tiles, int tile, std::int64_t size) {
  return log2_of(tiles * tile / static_cast<double>(std::max<std::int64_t>(size, 1)));
}

// 16-byte units that a row's length is a multiple of; 3: all vector accesses are whole.
double even_bits(std::int64_t size) {
  return std::min(3, std::countr_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))));
}

struct Feature {
  FeatureName name;
  double (*value)(const Facts&);
};

const auto& features() {
  static const auto table = std::to_array<Feature>({
      // The problem.
      {{"log_m", "rows"}, [](const Facts& f) { return log2_of(double(f.problem.m)); }},
      {{"log_n", "columns"}, [](const Facts& f) { return log2_of(double(f.problem.n)); }},
      {{"log_k", "depth k"}, [](const Facts& f) { return log2_of(double(f.problem.k)); }},
      {{"log_flop", "work"}, [](const Facts& f) { return log2_of(f.problem.flop()); }},
      {{"log_intensity", "FLOP a byte"},
       [](const Facts& f) {
         return log2_of(f.problem.flop() / std::max(f.problem.min_bytes(), 1.0));
       }},
      {{"log_floor", "the problem's floor"}, [](const Facts& f) { return log2_of(f.floor_us); }},
      {{"log_bytes_in_l2", "bytes over the L2"},
       [](const Facts& f) {
         return log2_of(f.problem.min_bytes() / double(std::max<std::int64_t>(f.target.l2_bytes, 1)));
       }},
      {{"even_n", "alignment of n"}, [](const Facts& f) { return even_bits(f.problem.n); }},
      {{"even_k", "alignment of k"}, [](const Facts& f) { return even_bits(f.problem.k); }},
      {{"bf16", "bfloat16 operands"},
       [](const Facts& f) { return f.problem.type == DataType::kBf16 ? 1.0 : 0.0; }},
      {{"f16_accumulator", "f16 accumulation"},
       [](const Facts& f) { return f.problem.accumulator == DataType::kF16 ? 1.0 : 0.0; }},
      {{"a_k_contiguous", "A's layout"},
       [](const Facts& f) { return a_is_k_contiguous(f.problem.layout) ? 1.0 : 0.0; }},
      {{"b_k_contiguous", "B's layout"},
       [](const Facts& f) { return b_is_k_contiguous(f.problem.layout) ? 1.0 : 0.0; }},
      // The target.
      {{"log_sms", "SMs"}, [](const Facts& f) { return log2_of(f.target.sm_count); }},
      {{"log_l2", "L2 size"}, [](const Facts& f) { return log2_of(double(f.target.l2_bytes)); }},
      {{"log_shared", "shared memory"},
       [](const Facts& f) { return log2_of(f.target.shared_bytes_per_block); }},
      {{"log_clock", "clock"}, [](const Facts& f) { return log2_of(f.target.sm_clock_mhz); }},
      {{"log_bandwidth", "memory bandwidth"},
       [](const Facts& f) { return log2_of(f.target.memory_bytes_per_s); }},
      {{"has_wgmma", "wgmma and TMA"},
       [](const Facts& f) { return f.target.compute_capability >= 90 ? 1.0 : 0.0; }},
      // The config.
      {{"is_ws", "the Hopper family"},
       [](const Facts& f) { return f.kernel.wgmma && !f.vendor ? 1.0 : 0.0; }},
      {{"is_mma", "the Ampere family"}, [](const Facts& f) { return f.kernel.wgmma ? 0.0 : 1.0; }},
      {{"is_vendor", "the vendor's kernel"}, [](const Facts& f) { return f.vendor ? 1.0 : 0.0; }},
      {{"log_tile_m", "tile rows"}, [](const Facts& f) { return log2_of(f.kernel.tile_m); }},
      {{"log_tile_n", "tile columns"}, [](const Facts& f) { return log2_of(f.kernel.tile_n); }},
      {{"log_tile_k", "tile depth"}, [](const Facts& f) { return log2_of(f.kernel.tile_k); }},
      {{"stages", "pipeline stages"}, [](const Facts& f) { return double(f.kernel.stages); }},
      {{"consumers", "consumer warpgroups"},
       [](const Facts& f) { return double(f.kernel.consumers); }},
      {{"pingpong", "pingpong schedule"}, [](const Facts& f) { return f.kernel.pingpong ? 1.0 : 0.0; }},
      {{"tma_store", "store through TMA"},
       [](const Facts& f) { return f.kernel.stores_by_tma ? 1.0 : 0.0; }},
      {{"log_warps", "warps"}, [](const Facts& f) { return log2_of(f.kernel.threads / 32.0); }},
      {{"log_warp_tile", "a warp's share of the tile"},
       [](const Facts& f) {
         return f.kernel.wgmma ? 0.0 : log2_of(f.kernel.warp_tile_m * f.kernel.warp_tile_n);
       }},
      {{"log_k_slices", "warps along k"},
       [](const Facts& f) {
         return f.kernel.wgmma ? 0.0
                               : log2_of(double(f.kernel.warps) * f.kernel.warp_tile_m *
                                         f.kernel.warp_tile_n /
                                         (double(f.kernel.tile_m) * f.kernel.tile_n));
       }},
      {{"log_cluster_m", "cluster along m"},
       [](const Facts& f) { return log2_of(f.kernel.cluster_m); }},
      {{"log_cluster_n", "cluster along n"},
       [](const Facts& f) { return log2_of(f.kernel.cluster_n); }},
      {{"log_split", "split of k"}, [](const Facts& f) { return log2_of(f.kernel.split_k); }},
      {{"persistent", "persistent CTAs"},
       [](const Facts& f) { return f.kernel.persistent ? 1.0 : 0.0; }},
      {{"pdl", "programmatic launch"}, [](const Facts& f) { return f.kernel.pdl ? 1.0 : 0.0; }},
      {{"prefetch", "asking L2 early"}, [](const Facts& f) { return double(f.kernel.prefetch); }},
      {{"split_in_workspace", "split of k through a workspace"},
       [](const Facts& f) { return f.kernel.through_workspace ? 1.0 : 0.0; }},
      {{"transposed", "the transposed product"},
       [](const Facts& f) { return f.kernel.transposed ? 1.0 : 0.0; }},
      {{"log_group", "tile group"},
       [](const Facts& f) { return f.tiles > f.target.sm_count ? log2_of(f.kernel.group) - 3 : 0.0; }},
      {{"along_n", "order of tiles"},
       [](const Facts& f) {
         return f.tiles > f.target.sm_count && f.kernel.along_n ? 1.0 : 0.0;
       }},
      {{"lt_custom_1", "vendor option 1"}, [](const Facts& f) { return f.vendor && f.lt.custom == 1 ? 1.0 : 0.0; }},
      {{"lt_custom_2", "vendor option 2"}, [](const Facts& f) { return f.vendor && f.lt.custom == 2 ? 1.0 : 0.0; }},
      {{"lt_custom_3", "vendor option 3"}, [](const Facts& f) { return f.vendor && f.lt.custom == 3 ? 1.0 : 0.0; }},
      {{"lt_custom_more", "vendor options 4 and up"}, [](const Facts& f) { return f.vendor && f.lt.custom > 3 ? 1.0 : 0.0; }},
      {{"lt_reduce_in_place", "vendor reduction in place"}, [](const Facts& f) { return f.vendor && f.lt.reduction == 1 ? 1.0 : 0.0; }},
      {{"lt_reduce_output", "vendor reduction in the output's type"}, [](const Facts& f) { return f.vendor && f.lt.reduction == 4 ? 1.0 : 0.0; }},
      {{"lt_other", "other vendor algorithms"}, [](const Facts& f) { return f.vendor && !f.lt.usual_stages ? 1.0 : 0.0; }},
      // What follows from them.
      {{"log_tiles", "tiles"}, [](const Facts& f) { return log2_of(f.tiles); }},
      {{"log_waves", "waves of CTAs"}, [](const Facts& f) { return log2_of(f.waves); }},
      {{"log_cta_share", "CTAs over SMs"}, [](const Facts& f) { return log2_of(f.ctas / std::max(f.target.sm_count, 1)); }},
      {{"below_one_wave", "SMs left idle"}, [](const Facts& f) { return std::max(0.0, -log2_of(f.ctas / std::max(f.target.sm_count, 1))); }},
      {{"tail_waste", "SM time lost in the last wave"}, [](const Facts& f) { return tail_waste(f.ctas, f.target.sm_count); }},
      {{"tail_waste_resident", "slots lost in the last wave"}, [](const Facts& f) { return tail_waste(f.ctas, f.target.sm_count * f.resident); }},
      {{"padding_m", "rows padded"}, [](const Facts& f) { return padding(f.tiles_m, f.kernel.tile_m, f.problem.m); }},
      {{"padding_n", "columns padded"}, [](const Facts& f) { return padding(f.tiles_n, f.kernel.tile_n, f.problem.n); }},
      {{"log_resident", "CTAs an SM holds"}, [](const Facts& f) { return log2_of(f.resident); }},
      {{"log_k_tiles", "k tiles of a CTA"}, [](const Facts& f) { return log2_of(f.k_tiles); }},
      {{"stages_over_k_tiles", "stages against k tiles"}, [](const Facts& f) { return std::max(-4.0, log2_of(f.kernel.stages / f.k_tiles)); }},
      {{"log_ring_bytes", "bytes in flight"}, [](const Facts& f) { return log2_of(double(f.kernel.stages) * (f.kernel.tile_m + f.kernel.tile_n) * f.kernel.tile_k * 2 * f.resident); }},
      {{"log_bytes_per_fma", "operand bytes a multiply"}, [](const Facts& f) { return log2_of(bytes_per_fma(f)); }},
      {{"multicast_saving", "operand bytes saved by multicast"}, multicast_saving},
      {{"split_traffic", "split-K partial sums"}, split_traffic},
      {{"shared_share", "share of shared memory"}, [](const Facts& f) { return double(f.kernel.shared_bytes) / std::max(f.target.shared_bytes_per_block, 1); }},
      {{"tile_aspect", "tile against the problem's aspect"}, [](const Facts& f) { return log2_of(double(f.kernel.tile_m) / f.kernel.tile_n) - log2_of(double(std::max<std::int64_t>(f.problem.m, 1)) / double(std::max<std::int64_t>(f.problem.n, 1))); }},
      {{"log_model", "the time model"}, [](const Facts& f) { return log2_of(f.model_us); }},
      {{"log_model_over_floor", "the time model over the floor"}, [](const Facts& f) { return log2_of(f.model_us / f.floor_us); }},
  });
  return table;
}

}  // namespace

std::span<const FeatureName> feature_names() {
  static const std::vector<FeatureName> names = [] {
    std::vector<FeatureName> list;
    for (const Feature& feature : features()) list.push_back(feature.name);
    return list;
  }();
  return names;
}

std::size_t feature_count() { return features().size(); }

std::size_t problem_feature_count() {
  static const auto count = static_cast<std::size_t>(
      std::find_if(features().begin(), features().end(),
                   [](const Feature& feature) { return feature.name.name == "log_sms"; }) -
      features().begin());
  return count;
}

std::uint64_t feature_set() {
  static const std::uint64_t identity = [] {
    std::string text = std::to_string(kFeatureVersion);
    for (const FeatureName& feature : feature_names()) text += ' ' + std::string(feature.name);
    return hash64(text);
  }();
  return identity;
}

void FeatureRows::fill(const Config& config, std::span<float> row) const {
  const Facts facts = facts_of(problem_, config, target_);
  const auto& table = features();
  for (std::size_t i = 0; i < table.size(); ++i) row[i] = static_cast<float>(table[i].value(facts));
}

}  // namespace gemmsmith::policy
