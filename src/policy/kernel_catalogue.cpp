// How the rows were chosen (kernels.md regimes, the measured feasibility table, the vendor's own
// tile names):
//  - tiny and short: narrow 64-row tiles so that a small output still fills the SMs, with 2 stages
//    (k 64, 128), 4 and more; tile_k 128 halves the barriers of long k;
//  - long k with a small output: the same tiles with split-K code, through a cluster; and deeper
//    ones through the workspace, which leaves all of shared memory to the stages;
//  - one wave of 128 tiles: every power of two of tile area from 64x16 to 256x128;
//  - sizes of 3 * 2^n: a side of 96 or 192;
//  - large: 128x256, 256x128, 192x256, 256x160 and 256x192 cooperative, with clusters of 2;
//  - short k with a large output: pingpong, and the Ampere family, which stores while others load;
//  - an output that TMA cannot write: a direct epilogue for a ladder of tile sizes.
#include "policy/kernel_catalogue.h"

#include <algorithm>

#include "space/space.h"

namespace gemmsmith::policy {
namespace {

constexpr int kMostThatFit = 0;  // stages: as many as shared memory holds, at most 8

enum class Kind {
  kSingle,
  kCooperative,
  kPingpong,
  kSingleSplit,
  kCooperativeSplit,
  kSingleThroughWorkspace,
  kCooperativeThroughWorkspace
};

// The value of `split`.
int split_of(Kind kind) {
  switch (kind) {
    case Kind::kSingleSplit:
    case Kind::kCooperativeSplit:
      return 1;
    case Kind::kSingleThroughWorkspace:
    case Kind::kCooperativeThroughWorkspace:
      return 2;
    default:
      return 0;
  }
}

bool is_single(Kind kind) {
  return kind == Kind::kSingle || kind == Kind::kSingleSplit ||
         kind == Kind::kSingleThroughWorkspace;
}

// Kernels of one tile: each stage count with each cluster.
struct HopperRow {
  Kind kind;
  int tile_m, tile_n, tile_k;
  std::vector<int> stages;
  std::vector<std::pair<int, int>> clusters = {{1, 1}};  // cluster_m, cluster_n
};

const std::vector<std::pair<int, int>> kEveryCluster = {{1, 1}, {2, 1}, {1, 2}};

std::vector<HopperRow> hopper_rows() {
  std::vector<HopperRow> rows;
  for (const int n : {16, 32, 64, 128}) {
    rows.push_back({Kind::kSingle, 64, n, 64, {2, 4, 8}});
    rows.push_back({Kind::kSingle, 64, n, 128, {2, 4, 6, 8}});
    rows.push_back({Kind::kSingleSplit, 64, n, 64, {4, kMostThatFit}});
    rows.push_back({Kind::kSingleSplit, 64, n, 128, {2, 4, 6}});
  }
  for (const int n : {8, 24, 48}) rows.push_back({Kind::kSingle, 64, n, 128, {2, 4, 6}});
  for (const int n : {96, 192}) rows.push_back({Kind::kSingle, 64, n, 128, {2, 4}});
  for (const int n : {24, 48}) rows.push_back({Kind::kSingleSplit, 64, n, 128, {4, 6}});
  for (const int n : {48, 96, 192, 256}) rows.push_back({Kind::kSingle, 64, n, 64, {2, 4}});
  rows.push_back({Kind::kSingleSplit, 64, 8, 128, {2, 4}});
  rows.push_back({Kind::kSingleSplit, 64, 96, 128, {3, 4}});
  rows.push_back({Kind::kSingleSplit, 64, 192, 64, {4}});
  rows.push_back({Kind::kSingleSplit, 64, 192, 128, {3}});
  for (const int n : {32, 64, 128}) rows.push_back({Kind::kSingle, 128, n, 64, {2, 4}});
  rows.push_back({Kind::kSingle, 128, 64, 128, {2, 4}});
  rows.push_back({Kind::kSingle, 64, 64, 64, {8}, {{2, 1}, {1, 2}}});
  rows.push_back({Kind::kSingle, 64, 32, 128, {4}, {{2, 1}}});
  rows.push_back({Kind::kSingle, 64, 64, 128, {4}, {{2, 1}, {1, 2}}});

  // Thin products: as much of the long operand in flight as fits. Transposed, those of few rows.
  for (const int n : {8, 16, 32}) {
    rows.push_back({Kind::kSingle, 64, n, 128, {kMostThatFit}});
    rows.push_back({Kind::kCooperative, 128, n, 128, {kMostThatFit}});
    rows.push_back({Kind::kCooperativeThroughWorkspace, 128, n, 128, {kMostThatFit}});
  }
  for (const int n : {48, 80, 112}) {
    rows.push_back({Kind::kCooperative, 128, n, 64, {kMostThatFit}, {{1, 1}, {1, 2}}});
    rows.push_back({Kind::kCooperativeThroughWorkspace, 128, n, 64, {kMostThatFit}});
  }
  rows.push_back({Kind::kCooperative, 128, 32, 128, {2, 4}});
  rows.push_back({Kind::kCooperative, 128, 64, 64, {2, 4, 8}});
  rows.push_back({Kind::kCooperative, 128, 64, 128, {2, 4}});
  rows.push_back({Kind::kCooperative, 128, 64, 64, {6}, {{2, 1}, {1, 2}}});
  rows.push_back({Kind::kCooperative, 128, 96, 64, {2, kMostThatFit}});
  rows.push_back({Kind::kCooperative, 128, 128, 64, {2, 3, 4}});
  rows.push_back({Kind::kCooperative, 128, 128, 64, {6}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 128, 128, 128, {2, 3}});
  rows.push_back({Kind::kCooperative, 128, 128, 128, {3}, {{2, 1}, {1, 2}}});
  rows.push_back({Kind::kCooperative, 128, 160, 64, {kMostThatFit}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 128, 192, 64, {2, 4}});
  rows.push_back({Kind::kCooperative, 128, 192, 64, {4}, {{2, 1}, {1, 2}}});
  rows.push_back({Kind::kCooperative, 128, 208, 64, {4}});
  rows.push_back({Kind::kCooperative, 128, 256, 64, {2, 3}});
  rows.push_back({Kind::kCooperative, 128, 256, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 128, 256, 128, {2}, {{1, 1}, {2, 1}}});
  rows.push_back({Kind::kCooperative, 64, 128, 64, {4, 8}});
  rows.push_back({Kind::kCooperative, 64, 128, 128, {4}});
  rows.push_back({Kind::kCooperative, 64, 256, 64, {2}});
  rows.push_back({Kind::kCooperative, 64, 256, 64, {4}, {{1, 1}, {2, 1}}});
  rows.push_back({Kind::kCooperative, 192, 64, 64, {4}});
  rows.push_back({Kind::kCooperative, 192, 128, 64, {2}});
  rows.push_back({Kind::kCooperative, 192, 128, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 192, 192, 64, {kMostThatFit}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 192, 256, 64, {3}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 64, 64, {2}});
  rows.push_back({Kind::kCooperative, 256, 64, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 96, 64, {kMostThatFit}});
  rows.push_back({Kind::kCooperative, 256, 128, 64, {2, 3}});
  rows.push_back({Kind::kCooperative, 256, 128, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 160, 64, {3}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 192, 64, {3}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 256, 64, {3}, kEveryCluster});  // f16 accumulation

  for (const int n : {64, 128}) {
    rows.push_back({Kind::kCooperativeSplit, 128, n, 64, {4, kMostThatFit}});
    rows.push_back({Kind::kCooperativeSplit, 128, n, 128, {2, 3, 4}});
  }
  rows.push_back({Kind::kCooperativeSplit, 128, 192, 64, {3}});
  rows.push_back({Kind::kCooperativeSplit, 128, 256, 64, {3}});
  rows.push_back({Kind::kCooperativeSplit, 256, 128, 64, {3}});

  rows.push_back({Kind::kSingleThroughWorkspace, 64, 16, 128, {4}});
  for (const int n : {32, 64}) {
    rows.push_back({Kind::kSingleThroughWorkspace, 64, n, 64, {8}});
    rows.push_back({Kind::kSingleThroughWorkspace, 64, n, 128, {4, kMostThatFit}});
  }
  rows.push_back({Kind::kSingleThroughWorkspace, 64, 128, 64, {8}});
  rows.push_back({Kind::kSingleThroughWorkspace, 64, 128, 128, {4}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 64, 64, {8}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 64, 128, {4}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 96, 64, {kMostThatFit}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 128, 64, {4, kMostThatFit}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 128, 128, {3}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 160, 64, {kMostThatFit}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 192, 64, {5}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 128, 256, 64, {4}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 192, 128, 64, {5}});
  rows.push_back({Kind::kCooperativeThroughWorkspace, 256, 128, 64, {4}});

  rows.push_back({Kind::kPingpong, 64, 64, 64, {4, 8}});
  rows.push_back({Kind::kPingpong, 64, 128, 64, {4, 8}});
  rows.push_back({Kind::kPingpong, 64, 192, 64, {4}});
  rows.push_back({Kind::kPingpong, 64, 128, 128, {4}});
  rows.push_back({Kind::kPingpong, 64, 256, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kPingpong, 64, 256, 64, {kMostThatFit}});
  rows.push_back({Kind::kPingpong, 128, 64, 64, {4, 8}, {{1, 1}, {1, 2}}});
  rows.push_back({Kind::kPingpong, 128, 64, 128, {4}});
  rows.push_back({Kind::kPingpong, 128, 96, 64, {4, kMostThatFit}});
  rows.push_back({Kind::kPingpong, 128, 128, 64, {3, 4, 5}});
  rows.push_back({Kind::kPingpong, 128, 128, 64, {kMostThatFit}, kEveryCluster});
  rows.push_back({Kind::kPingpong, 128, 128, 128, {2, 3}});
  rows.push_back({Kind::kPingpong, 128, 160, 64, {4, kMostThatFit}});
  rows.push_back({Kind::kPingpong, 128, 192, 64, {3}});
  rows.push_back({Kind::kPingpong, 128, 192, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kPingpong, 128, 256, 64, {3}});  // f16 accumulation
  rows.push_back({Kind::kPingpong, 192, 64, 64, {4}});
  rows.push_back({Kind::kPingpong, 192, 128, 64, {3}, kEveryCluster});
  return rows;
}

// The same tiles again, fewer, with an epilogue that needs nothing of D.
std::vector<HopperRow> hopper_direct_rows() {
  std::vector<HopperRow> rows;
  for (const int n : {16, 32, 64, 128}) rows.push_back({Kind::kSingle, 64, n, 64, {2, 4, 8}});
  for (const int n : {8, 16, 32, 64}) rows.push_back({Kind::kSingle, 64, n, 128, {2, 4, 6}});
  for (const int n : {64, 128, 192, 256}) rows.push_back({Kind::kCooperative, 128, n, 64, {4}});
  rows.push_back({Kind::kCooperative, 128, 64, 64, {8}});
  rows.push_back({Kind::kCooperative, 128, 128, 64, {6}});
  rows.push_back({Kind::kCooperative, 128, 256, 64, {4}, {{2, 1}, {1, 2}}});
  rows.push_back({Kind::kCooperative, 64, 256, 64, {4}});
  rows.push_back({Kind::kCooperative, 192, 128, 64, {4}});
  rows.push_back({Kind::kCooperative, 256, 128, 64, {4}, kEveryCluster});
  rows.push_back({Kind::kCooperative, 256, 192, 64, {3}, {{2, 1}}});
  rows.push_back({Kind::kPingpong, 64, 128, 64, {4}});
  rows.push_back({Kind::kPingpong, 128, 64, 64, {8}});
  rows.push_back({Kind::kPingpong, 128, 128, 64, {4, kMostThatFit}});
  rows.push_back({Kind::kPingpong, 128, 192, 64, {4}});
  return rows;
}

struct AmpereRow {
  int tile_m, tile_n, warps_m, warps_n, tile_k, warps_k;
  std::vector<int> stages;
};

const std::vector<AmpereRow> kAmpereRows = {
    {16, 16, 1, 1, 128, 4, {2, 4}},   {16, 16, 1, 1, 128, 8, {3}},
    {16, 32, 1, 1, 64, 2, {3}},       {16, 32, 1, 1, 128, 4, {2, 4}},
    {32, 16, 1, 1, 128, 4, {2, 4}},   {32, 32, 1, 1, 64, 2, {2, 4}},
    {32, 32, 1, 1, 128, 4, {2, 4}},   {32, 32, 1, 1, 128, 8, {4}},
    {32, 32, 2, 1, 64, 1, {2}},       {32, 64, 1, 2, 64, 1, {2, 4}},
    {32, 64, 1, 2, 128, 2, {2, 4}},   {64, 32, 2, 1, 64, 1, {2, 4}},
    {64, 32, 2, 1, 128, 2, {2, 4}},   {64, 64, 2, 2, 32, 1, {2, 4}},
    {64, 64, 2, 2, 64, 1, {2, 3, 5}}, {64, 64, 2, 2, 128, 1, {2, 3}},
    {64, 64, 2, 2, 128, 2, {2, 4}},   {64, 64, 2, 1, 64, 1, {2, 4}},
    {64, 128, 2, 2, 32, 1, {2, 4}},   {64, 128, 2, 2, 64, 1, {2, 3}},
    {64, 128, 2, 2, 128, 1, {2}},     {128, 64, 2, 2, 32, 1, {2, 3}},
    {128, 64, 2, 2, 64, 1, {2, 3}},   {128, 64, 2, 2, 128, 1, {2}},
    {96, 64, 2, 2, 64, 1, {2}},       {96, 128, 2, 2, 32, 1, {4}},
    {96, 128, 2, 2, 64, 1, {2}},      {128, 96, 2, 2, 64, 1, {2}},
    {128, 128, 2, 2, 32, 1, {2, 4}},  {128, 128, 2, 2, 64, 1, {2, 3}},
    {128, 128, 2, 4, 64, 1, {2, 3}},  {128, 160, 2, 4, 32, 1, {4}},
    {160, 128, 2, 4, 32, 1, {4}},     {64, 256, 1, 4, 64, 1, {2}},
    {256, 64, 4, 1, 64, 1, {2}},      {128, 256, 2, 4, 32, 1, {3}},
    {128, 256, 2, 4, 64, 1, {3}},     {256, 128, 4, 2, 32, 1, {3}},
    {256, 128, 4, 2, 64, 1, {3}},
};

// The same, loading element by element: small tiles, for small problems.
const std::vector<AmpereRow> kElementRows = {
    {16, 16, 1, 1, 32, 1, {2}},  {16, 16, 1, 1, 128, 4, {2, 4}}, {16, 32, 1, 1, 128, 4, {2, 4}},
    {16, 32, 1, 1, 32, 1, {2}},  {32, 16, 1, 1, 128, 4, {2}},    {32, 32, 2, 1, 32, 1, {2}},
    {32, 32, 1, 1, 128, 4, {2}}, {32, 64, 1, 2, 128, 2, {2}},    {64, 32, 2, 1, 32, 1, {2}},
    {64, 64, 2, 2, 32, 1, {2}},  {64, 64, 2, 2, 64, 1, {2}},     {64, 64, 2, 2, 128, 2, {2}},
    {128, 64, 2, 2, 32, 1, {2}}, {128, 128, 2, 4, 32, 1, {2}}};

class Catalogue {
 public:
  Catalogue(const Target& target, const Signature& signature)
      : target_(target), problems_(roomy_problems(signature)) {}

  void add(const HopperRow& row, bool direct, bool transpose) {
    const int split = split_of(row.kind);
    for (const auto& [cluster_m, cluster_n] : row.clusters) {
      for (const int stages : row.stages) {
        Config config = default_config(sm90_ws_family());
        config.set("transpose", transpose ? 1 : 0);
        config.set("consumers", is_single(row.kind) ? 1 : 2);
        config.set("schedule", row.kind == Kind::kPingpong ? 1 : 0);
        config.set("tile_m", row.tile_m);
        config.set("tile_n", row.tile_n);
        config.set("tile_k", row.tile_k);
        config.set("epilogue", direct || split != 0 ? 1 : 0);
        config.set("split", split);
        config.set("cluster_m", cluster_m);
        config.set("cluster_n", cluster_n);
        add(config, stages);
      }
    }
  }

  void add(const AmpereRow& row, bool elements) {
    for (const int stages : row.stages) {
      Config config = default_config(sm80_mma_family());
      config.set("tile_m", row.tile_m);
      config.set("tile_n", row.tile_n);
      config.set("warps_m", row.warps_m);
      config.set("warps_n", row.warps_n);
      config.set("tile_k", row.tile_k);
      config.set("warps_k", row.warps_k);
      config.set("loads", elements ? 1 : 0);
      add(config, stages);
    }
  }

  std::vector<Config> take() { return std::move(configs_); }

 private:
  void add(Config config, int stages) {
    if (stages != kMostThatFit) {
      config.set("stages", stages);
      add_if_legal(config);
      return;
    }
    for (const int most : {8, 6, 5, 4, 3}) {
      config.set("stages", most);
      if (add_if_legal(config)) return;
    }
  }

  bool add_if_legal(const Config& kernel) {
    Config launch = kernel;
    if (kernel.family == &sm90_ws_family()) {
      if (kernel.at("split") != 0) launch.set("split_k", 2);
      if (kernel.at("schedule") == 1) launch.set("persistent", 1);
    }
    if (std::none_of(problems_.begin(), problems_.end(), [&](const Problem& problem) {
          return broken_rule({problem, target_}, launch) == nullptr;
        }))
      return false;
    if (std::find(configs_.begin(), configs_.end(), kernel) == configs_.end())
      configs_.push_back(kernel);
    return true;
  }

  const Target& target_;
  std::vector<Problem> problems_;
  std::vector<Config> configs_;
};

}  // namespace

std::vector<Config> kernel_catalogue(const Target& target, const Signature& signature) {
  Catalogue catalogue(target, signature);
  for (const HopperRow& row : hopper_rows()) catalogue.add(row, false, false);
  for (const HopperRow& row : hopper_direct_rows()) catalogue.add(row, true, false);
  for (const HopperRow& row : hopper_rows()) catalogue.add(row, false, true);
  for (const AmpereRow& row : kAmpereRows) catalogue.add(row, false);
  for (const AmpereRow& row : kElementRows) catalogue.add(row, true);
  return catalogue.take();
}

}  // namespace gemmsmith::policy
