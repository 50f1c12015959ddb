#include "gpu/kernel_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "base/numbers.h"
#include "compile/cubin_cache.h"
#include "compile/embedded_kernels.h"
#include "gpu/gpu.h"
#include "measure/kernel_provider.h"
#include "policy/analytic_ranker.h"
#include "problem/shape_list.h"
#include "space/family.h"
#include "space/kernel_problem.h"
#include "space/packing.h"
#include "space/space.h"

namespace gemmsmith::gpu {
namespace {

constexpr std::size_t kPoolLarge = 14;  // kernels chosen among those of a large problem
constexpr std::size_t kPoolSmall = 6;   // and of a small one

std::vector<Config> spread(const std::vector<Config>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<Config> chosen;
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return chosen;
}

const std::vector<Config>& pool(const Family& family, Layout layout) {
  static std::map<std::pair<const Family*, Layout>, std::vector<Config>> pools;
  std::vector<Config>& configs = pools[{&family, layout}];
  if (!configs.empty()) return configs;
  const Target target = *known_target("h200");
  Problem large = shape(1024, 1024, 2048);
  Problem small = shape(64, 64, 128);
  large.layout = small.layout = layout;
  large.ldb = 2048;  // of a size that both ways of lying take
  large.lda = 2048;
  small.lda = small.ldb = 128;
  configs = spread(kernels_of(family, {large, target}), kPoolLarge);
  for (const Config& config : spread(kernels_of(family, {small, target}), kPoolSmall))
    configs.push_back(config);
  return configs;
}

}  // namespace

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return *make_problem(problem);
}

std::vector<Config> pool_configs(const Family& family, const Problem& problem, const Target& target,
                                 std::size_t count) {
  const SpaceContext context{problem, target};
  std::vector<Config> legal;
  for (Config config : pool(family, problem.layout)) {
    config.set("pack", problem.is_batched() ? 0 : needed_pack(kernel_problem(problem, config)));
    if (broken_rule(context, config) == nullptr) legal.push_back(config);
  }
  // A problem too small or odd for the pool still gets kernels of its own.
  if (legal.size() < 2)
    for (const Config& config : spread(kernels_of(family, context), 2)) legal.push_back(config);
  std::vector<Config> chosen = spread(legal, count);
  for (std::size_t i = 1; i < chosen.size(); i += 2) {
    for (const char* parameter : {"persistent", "pdl", "raster"}) {
      if (family.index_of(parameter) < 0) continue;
      Config turned = chosen[i];
      turned.set(parameter, 1 - turned.at(parameter));
      if (broken_rule(context, turned) == nullptr) chosen[i] = turned;
    }
    Config packed = chosen[i];
    packed.set("pack", useful_pack(kernel_problem(problem, packed)));
    if (broken_rule(context, packed) == nullptr) chosen[i] = packed;
  }
  // Every other one asks L2 for its operands early, by turns once and twice its ring.
  for (std::size_t i = 0; i < chosen.size(); i += 2)
    for (const int depth : i % 4 == 0 ? std::array{1, 2} : std::array{2, 1}) {
      Config prefetching = chosen[i];
      prefetching.set("pdl", 1);
      prefetching.set("prefetch", depth);
      if (broken_rule(context, prefetching) != nullptr) continue;
      chosen[i] = prefetching;
      break;
    }
  return chosen;
}

// Ragged around the boxes of operands whose k is not contiguous: rows, columns and lines of k.
constexpr std::int64_t kLayoutShapes[][3] = {
    {1, 8, 16},     {64, 64, 64},   {65, 72, 72},     {127, 136, 100},   {128, 256, 64},
    {129, 264, 65}, {192, 96, 136}, {300, 208, 1000}, {512, 1024, 2048}, {63, 40, 4096}};

namespace {

// Operands that no TMA can read: every residue of lda and ldb, in every layout; and bases at 2
// bytes.
std::vector<Problem> packed_problems() {
  constexpr std::int64_t kShapes[][3] = {{1, 1, 1},      {3, 5, 7},        {33, 17, 9},
                                         {65, 130, 197}, {128, 256, 1021}, {257, 131, 66},
                                         {96, 1000, 4},  {513, 255, 2050}};
  std::vector<Problem> problems;
  int variant = 0;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    for (const auto& [m, n, k] : kShapes) {
      Problem problem;
      problem.m = m;
      problem.n = n;
      problem.k = k;
      problem.layout = layout;
      problem.lda = (a_is_k_contiguous(layout) ? k : m) + variant % 4;
      problem.ldb = (b_is_k_contiguous(layout) ? k : n) + variant % 3;
      problem.type = variant % 2 == 0 ? DataType::kF16 : DataType::kBf16;
      if (variant % 5 == 0) problem.alignment = {2, 4, 2, 2};
      if (variant % 7 == 0) problem.beta = 0.5F;
      ++variant;
      problems.push_back(*make_problem(problem));
    }
  // Readable, and packed all the same.
  for (const std::int64_t ld : {72, 1000}) {
    Problem problem = shape(200, 136, 72);
    problem.lda = problem.ldb = ld;
    problems.push_back(problem);
  }
  return problems;
}

}  // namespace

std::vector<Problem> exactness_problems() {
  constexpr std::int64_t kShapes[][3] = {
      {1, 1, 8},        {1, 8, 16},     {7, 9, 24},      {16, 16, 4096}, {17, 33, 40},
      {64, 64, 64},     {65, 129, 72},  {127, 255, 136}, {128, 256, 64}, {129, 257, 264},
      {200, 136, 1000}, {300, 70, 520}, {512, 48, 2048}, {2048, 40, 64}};
  std::vector<Problem> problems;
  int variant = 0;
  for (const auto& [m, n, k] : kShapes) {
    // The plain problem always, one of its variants in turn.
    problems.push_back(shape(m, n, k));
    Problem other = problems.back();
    switch (variant++ % 3) {
      case 0:
        other.lda = other.ldb = (k + 7) / 8 * 8 + 8;
        other.ldc = other.ldd = (n + 7) / 8 * 8 + 8;
        other.alpha = 0.5F;
        other.beta = -2;
        break;
      case 1:
        other.type = DataType::kBf16;
        break;
      default:
        other.accumulator = DataType::kF16;
    }
    problems.push_back(other);
  }
  for (const Problem& problem : packed_problems()) problems.push_back(problem);
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT})
    for (const auto& [m, n, k] : kLayoutShapes) {
      Problem problem;
      problem.m = m;
      problem.n = n;
      problem.k = k;
      problem.layout = layout;
      // Strides that TMA can take, packed where the sizes are whole.
      problem.lda = round_up(a_is_k_contiguous(layout) ? k : m, 8);
      problem.ldb = round_up(b_is_k_contiguous(layout) ? k : n, 8);
      problem.type = m % 2 == 0 ? DataType::kF16 : DataType::kBf16;
      problems.push_back(*make_problem(problem));
    }
  return problems;
}

std::vector<Problem> bench_problems() {
  return {shape(64, 64, 64), shape(64, 4096, 512), shape(512, 2048, 4096), shape(4096, 4096, 4096),
          shape(8192, 8192, 8192)};
}

std::vector<Config> bench_configs(const Problem& problem, const Target& target) {
  return policy::ranked_configs(problem, target, 16, 2);
}

std::vector<Problem> same_kernel_problems() {
  constexpr std::size_t kShapes = 50;
  const auto grid = read_shape_list(repository_path("data/shapes/grid1000.csv"), Problem());
  std::vector<Problem> problems;
  for (std::size_t i = 0; grid && i < kShapes; ++i)
    problems.push_back((*grid)[i * grid->size() / kShapes]);
  return problems;
}

std::vector<Problem> direct_problems() {
  constexpr std::int64_t kShapes[][3] = {{1, 1, 8},      {7, 9, 24},     {65, 129, 72},
                                         {128, 256, 64}, {129, 72, 264}, {200, 40, 1000}};
  std::vector<Problem> problems;
  for (const auto& [m, n, k] : kShapes) {
    Problem problem = shape(m, n, k);
    // Padded to what a TMA store takes, so that both epilogues run.
    problem.ldc = problem.ldd = (n + 7) / 8 * 8;
    problems.push_back(problem);
  }
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT}) {
    Problem problem = shape(72, 136, 104);
    problem.layout = layout;
    problem.lda = problem.ldb = 136;  // wide enough for each way of lying
    problems.push_back(*make_problem(problem));
  }
  return problems;
}

std::vector<Config> workspace_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const char* text :
       {"sm90_ws:e1.s8.sp2.sk2", "sm90_ws:k128.e1.sp2.sk5", "sm90_ws:n16.k128.e1.s2.sp2.sk16",
        "sm90_ws:n8.e1.s2.sp2.sk32.d0", "sm90_ws:n128.e1.s3.sp2.sk6.r1",
        "sm90_ws:w2.m128.n128.s4.e1.sp2.sk3", "sm90_ws:w2.m128.n128.s6.e1.sp2.sk8",
        "sm90_ws:w2.n96.e1.s3.sp2.sk12", "sm90_ws:w2.m128.n256.e1.sp2.sk4.g2",
        "sm90_ws:w2.m256.n128.e1.s2.sp2.sk10.d0", "sm90_ws:w2.m192.n128.e1.sp2.sk24"}) {
    const Config config = *parse_config(text, kernel_families());
    if (broken_rule({problem, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

std::vector<Config> transposed_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const char* text : {"sm90_ws:t1.n8.s2",
                           "sm90_ws:t1.n24.k128.s2.d0",
                           "sm90_ws:t1.n80.s3.pf1",
                           "sm90_ws:t1.w2.n96.s3",
                           "sm90_ws:t1.w2.m128.n16.k128.s2",
                           "sm90_ws:t1.w2.m128.n96.s3.ps1",
                           "sm90_ws:t1.w2.m128.n256.s3.r1",
                           "sm90_ws:t1.w2.m128.n80.cm2.s2",
                           "sm90_ws:t1.w2.m128.n112.cn2.s2",
                           "sm90_ws:t1.w2.pp1.m128.n192.s3.ps1",
                           "sm90_ws:t1.w2.pp1.n128.s3.ps1.g1",
                           "sm90_ws:t1.w2.m256.n112.s2",
                           "sm90_ws:t1.w2.m192.n160.s3",
                           "sm90_ws:t1.n32.e1.s2.sp1.sk2",
                           "sm90_ws:t1.n8.k128.e1.s2.sp1.sk6",
                           "sm90_ws:t1.w2.m128.n48.e1.s2.sp1.sk3",
                           "sm90_ws:t1.n16.k128.e1.s2.sp2.sk5",
                           "sm90_ws:t1.w2.m128.n80.e1.s2.sp2.sk3",
                           "sm90_ws:t1.w2.m256.n96.e1.s2.sp2.sk10.d0",
                           "sm90_ws:t1.w2.m192.n128.e1.s2.sp2.sk2"}) {
    Config config = *parse_config(text, kernel_families());
    if (!problem.is_batched()) config.set("pack", needed_pack(kernel_problem(problem, config)));
    if (config.at("pack") != 0) config.set("prefetch", 0);
    if (broken_rule({problem, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

std::vector<Problem> transposed_problems() {
  std::vector<Problem> problems = exactness_problems();
  for (const Problem& problem : split_problems()) problems.push_back(problem);
  for (const Problem& problem : batch_problems()) problems.push_back(problem);
  // Around the tiles, in both directions.
  for (const std::int64_t m : {7, 8, 9, 79, 80, 81, 95, 97, 192, 193})
    for (const std::int64_t n : {64, 72, 120, 136, 264}) problems.push_back(shape(m, n, 264));
  return problems;
}

std::vector<Problem> split_problems() {
  std::vector<Problem> problems;
  for (const auto& [m, n, k] : {std::tuple{1, 1, 4096},
                                {17, 33, 2056},
                                {64, 64, 8192},
                                {127, 129, 4104},
                                {129, 257, 4096},
                                {200, 300, 3000},
                                {256, 512, 5000}})
    problems.push_back(shape(m, n, k));
  const auto add = [&](auto change) {
    Problem problem = shape(130, 264, 4168);
    change(problem);
    problems.push_back(*make_problem(problem));
  };
  add([](Problem& p) { p.type = DataType::kBf16; });
  add([](Problem& p) { p.accumulator = DataType::kF16; });
  add([](Problem& p) {
    p.alpha = 0.5F;
    p.beta = -2;
    p.ldc = p.ldd = 272;
  });
  add([](Problem& p) { p.ldc = p.ldd = 265; });  // pairs of elements on odd places
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT})
    add([&](Problem& p) {
      p.layout = layout;
      p.lda = a_is_k_contiguous(layout) ? 4168 : 136;
      p.ldb = b_is_k_contiguous(layout) ? 4168 : 264;
    });
  return problems;
}

namespace {

// One of 1..70, in every arrangement in turn.
Problem small_batch(int variant, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  constexpr Layout kLayouts[] = {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT};
  Problem problem;
  // Half of them as TMA wants them.
  const std::int64_t unit = variant % 2 == 0 ? 8 : 1;
  problem.m = round_up(draw(70), unit);
  problem.n = round_up(draw(70), unit);
  problem.k = round_up(draw(70), unit);
  problem.batch = draw(300);
  problem.layout = kLayouts[variant / 2 % 4];
  // Few kinds of kernels: each must be compiled.
  const bool is_f16 =
      problem.layout == Layout::kTN ? variant % 3 != 0 : problem.layout == Layout::kNT;
  problem.type = is_f16 ? DataType::kF16 : DataType::kBf16;
  if (problem.layout == Layout::kTN && variant % 3 == 1) problem.accumulator = DataType::kF16;
  problem = *make_problem(problem);
  const std::int64_t gap = unit == 8 ? 24 : 5;
  switch (variant % 7) {
    case 1:  // gaps between rows and between matrices
      problem.lda += gap;
      problem.ldb += gap;
      problem.ldc = problem.ldd = problem.ldd + gap;
      problem.stride_a = problem.stride_b = problem.stride_c = problem.stride_d = kDense;
      problem = *make_problem(problem);
      problem.stride_a += gap;
      problem.stride_d += gap;
      break;
    case 2:
      problem.stride_a = 0;
      break;
    case 3:
      problem.stride_b = 0;
      break;
    case 4:  // interleaved results, as attention's heads; C one for all
      problem.ldd = problem.batch * problem.n;
      problem.stride_d = problem.n;
      problem.stride_c = 0;
      problem.alpha = -0.5F;
      problem.beta = 2;
      break;
    case 5:  // windows that overlap
      problem.stride_a = unit;
      problem.stride_b = unit;
      break;
    case 6:
      problem.alpha = 2;
      problem.beta = -1;
      break;
    default:
      break;
  }
  return *make_problem(problem);
}

}  // namespace

std::vector<Problem> batch_problems() {
  constexpr int kDrawn = 112;  // every arrangement with every layout, aligned and not
  std::mt19937_64 random(20240607);
  std::vector<Problem> problems;
  for (int variant = 0; variant < kDrawn; ++variant)
    problems.push_back(small_batch(variant, random));
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    Problem problem = shape(m, n, k);
    problem.batch = batch;
    problems.push_back(*make_problem(problem));
  };
  add(64, 128, 4096, 3);  // long k: splits
  add(130, 264, 4168, 2);
  // D8: as many as a grid's z can count, and more; vectors too.
  for (const std::int64_t batch : {65535, 65536, 65537, 131073}) add(16, 16, 8, batch);
  add(225, 1, 4, 65536);
  add(1, 16, 8, 131073);
  add(1, 64, 256, 1000);   // a vector each
  add(300, 520, 264, 17);  // several tiles a matrix
  add(512, 512, 512, 33);
  return problems;
}

std::vector<Problem> far_batch_problems() {
  constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 64;
  std::vector<Problem> problems;
  for (const int which : {0, 1, 2}) {
    Problem problem = shape(72, 136, 104);
    problem.batch = 3;
    (which == 0 ? problem.stride_a : which == 1 ? problem.stride_b : problem.stride_d) = kFar;
    if (which == 2) problem.stride_c = 0;  // one C is enough
    problems.push_back(*make_problem(problem));
  }
  return problems;
}

std::vector<Config> batch_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const Family* family : kernel_families())
    for (const Config& config : pool_configs(*family, problem, target, 3))
      configs.push_back(config);
  for (const char* text :
       {"sm90_ws:s2.ps1", "sm90_ws:w2.m128.n128.s3.ps1.pp1", "sm90_ws:w2.m128.n128.cm2.s2",
        "sm90_ws:n128.cn2.s2.ps1", "sm90_ws:n64.e1.s2.ps1", "sm90_ws:e1.s2.sp1.sk2",
        "sm90_ws:e1.s2.sp2.sk2", "sm90_ws:w2.m128.n64.e1.sp2.sk8", "sm80_mma:m16.n16.wm1.wn1.s2",
        "sm80_mma:m16.n16.wm1.wn1.s2.ps1", "sm80_mma:m32.n32.k64.wk2.s2",
        "sm80_mma:m32.n32.wm1.wn1.s2.l1", "sm90_ws:t1.n24.s2", "sm90_ws:t1.w2.m128.n96.s2.ps1",
        "sm90_ws:t1.n32.e1.s2.sp1.sk2"}) {
    const Config config = *parse_config(text, kernel_families());
    if (broken_rule({problem, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

std::vector<Problem> epilogue_problems() {
  std::vector<Problem> problems;
  const auto add = [&](Problem problem, auto change) {
    change(problem);
    problems.push_back(*make_problem(problem));
  };
  for (const auto& [m, n, k] : {std::tuple{1, 1, 8},
                                {7, 9, 24},
                                {63, 65, 64},
                                {129, 72, 264},
                                {128, 256, 64},
                                {193, 255, 136}})
    add(shape(m, n, k), [](Problem&) {});
  for (const std::int64_t k : {136, 4168}) {
    add(shape(130, 264, k), [](Problem& p) { p.beta = 1; });
    add(shape(130, 264, k), [](Problem& p) { p.type = DataType::kBf16; });
    add(shape(130, 264, k), [](Problem& p) { p.accumulator = DataType::kF16; });
    add(shape(130, 264, k), [](Problem& p) { p.ldc = p.ldd = 267; });
  }
  add(shape(72, 136, 104), [](Problem& p) {
    p.alpha = -1;
    p.beta = 2;
    p.layout = Layout::kNT;
    p.lda = p.ldb = 136;
  });
  return problems;
}

std::vector<Problem> with_epilogues(const Problem& plain) {
  std::vector<Problem> problems;
  for (const bool has_bias : {false, true})
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluTanh,
                                        Activation::kGeluErf, Activation::kSilu}) {
      Problem problem = plain;
      problem.has_bias = has_bias;
      problem.activation = activation;
      if (problem.has_epilogue()) problems.push_back(problem);
    }
  return problems;
}

std::vector<Config> epilogue_configs(const Problem& plain, const Target& target) {
  Problem fused = plain;
  fused.has_bias = true;
  std::vector<Config> configs = workspace_configs(fused, target);
  for (const Family* family : kernel_families())
    for (const Config& config : pool_configs(*family, fused, target, 4)) configs.push_back(config);
  for (const char* text :
       {"sm90_ws:w2.m128.n160.s3", "sm90_ws:w2.pp1.m128.n128.s3.ps1", "sm90_ws:w2.m256.n64.e1.s2",
        "sm90_ws:w2.m192.n96.s3", "sm90_ws:e1.s2.sp1.sk2", "sm90_ws:w2.m128.n128.e1.s2.sp1.sk3",
        "sm90_ws:t1.n80.s2", "sm90_ws:t1.w2.m128.n96.s2", "sm90_ws:t1.w2.pp1.m128.n160.s3.ps1",
        "sm90_ws:t1.n32.e1.s2.sp1.sk2", "sm90_ws:t1.w2.m128.n80.e1.s2.sp2.sk2"}) {
    const Config config = *parse_config(text, kernel_families());
    if (broken_rule({fused, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

namespace {

GroupedCase grouped_case(std::int64_t n, std::int64_t k, const std::vector<int>& rows,
                         int rows_of_nobody) {
  GroupedCase made;
  std::int32_t end = 0;
  for (const int count : rows) made.ends.push_back(end += count);
  made.problem = shape(std::max(1, end + rows_of_nobody), n, k);
  made.problem.batch = static_cast<std::int64_t>(rows.size());
  made.problem.grouped = true;
  made.problem = *make_problem(made.problem);
  return made;
}

// The i-th most popular group has total / i rows or so, in an order that is not theirs.
std::vector<int> zipf_rows(int groups, int total) {
  double sum = 0;
  for (int i = 1; i <= groups; ++i) sum += 1.0 / i;
  std::vector<int> rows;
  for (int i = 0; i < groups; ++i) {
    const int rank = 1 + static_cast<int>(i * 7919LL % groups);  // a permutation: 7919 is prime
    rows.push_back(static_cast<int>(total / (rank * sum)));
  }
  return rows;
}

}  // namespace

std::vector<GroupedCase> grouped_cases() {
  std::vector<GroupedCase> cases = {grouped_case(64, 64, {1}, 0),
                                    grouped_case(72, 64, {0}, 5),
                                    grouped_case(128, 200, {128}, 0),
                                    grouped_case(136, 64, {127, 1}, 3),
                                    grouped_case(256, 136, {0, 129, 0, 64, 0}, 1),
                                    grouped_case(520, 72, {300, 1, 2, 65, 63, 64}, 200),
                                    grouped_case(64, 512, std::vector<int>(31, 3), 0),
                                    grouped_case(64, 128, std::vector<int>(32, 1), 0),
                                    grouped_case(64, 128, std::vector<int>(33, 70), 9),
                                    grouped_case(1024, 256, zipf_rows(8, 2000), 0),
                                    grouped_case(512, 1024, zipf_rows(64, 4096), 0),
                                    grouped_case(264, 136, zipf_rows(256, 3000), 7),
                                    grouped_case(64, 64, zipf_rows(300, 700), 0)};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Problem& p = cases[i].problem;
    p.type = i % 2 == 0 ? DataType::kBf16 : DataType::kF16;
    if (i % 3 == 1) {
      p.layout = Layout::kTT;
      p.ldb = round_up(p.n, 8) + 8;
      p.stride_b = kDense;
    }
    if (i % 4 == 2) p.alpha = 2, p.beta = -1;
    if (i % 4 == 3) p.ldc = p.ldd = p.n + 3;
    if (i == 6) p.stride_b = 0;
    p = *make_problem(p);
  }
  return cases;
}

std::vector<Config> grouped_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const char* text :
       {"sm90_ws:n64.s4.e1.ps1", "sm90_ws:n128.s6.e1.ps1.g2", "sm90_ws:w2.n128.s5.e1.ps1.d0",
        "sm90_ws:w2.m128.n128.s5.e1.ps1.g1", "sm90_ws:w2.pp1.m128.n128.s3.e1.ps1",
        "sm90_ws:w2.pp1.n64.s6.e1.ps1", "sm90_ws:w2.m128.n256.s4.e1.ps1",
        "sm90_ws:w2.m256.n128.s3.e1.ps1", "sm90_ws:w2.m192.n96.k128.s2.e1.ps1"}) {
    const Config config = *parse_config(text, kernel_families());
    if (broken_rule({problem, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

std::vector<Problem> field_report_problems(DataType type) {
  std::vector<Problem> problems = {shape(64, 128, 4096), shape(130, 72, 14336),
                                   shape(128, 72, 8192), shape(512, 8, 500000)};
  for (Problem& problem : problems) problem.type = type;
  return problems;
}

std::vector<Problem> overflow_problems(DataType type) {
  std::vector<Problem> problems;
  for (const std::int64_t m : {1, 8, 16, 63, 64, 65, 128, 130}) {
    problems.push_back(shape(m, 72, 4096));
    problems.back().type = type;
  }
  return problems;
}

std::vector<Config> field_report_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const Family* family : kernel_families())
    for (const Config& config : pool_configs(*family, problem, target, 2))
      configs.push_back(config);
  for (const char* text :
       {"sm90_ws:e1.sp1.sk2", "sm90_ws:e1.sp1.sk4", "sm90_ws:e1.sp1.sk16", "sm90_ws:e1.sp2.sk2",
        "sm90_ws:w2.m128.e1.sp2.sk8", "sm90_ws:w2.m128.e1.sp1.sk8", "sm90_ws:n8.e1.sp1.sk8",
        "sm80_mma:m16.n16.wm1.wn1.k128.wk8", "sm80_mma:m32.n32.k64.wk2"}) {
    const Config config = *parse_config(text, kernel_families());
    if (broken_rule({problem, target}, config) == nullptr) configs.push_back(config);
  }
  return configs;
}

Config naive_stand_in(int group, int raster) {
  Config config = default_config(sm80_mma_family());
  for (const auto& [parameter, value] : std::map<std::string, int>{{"tile_m", 16},
                                                                   {"tile_n", 16},
                                                                   {"tile_k", 128},
                                                                   {"warps_m", 1},
                                                                   {"warps_n", 1},
                                                                   {"warps_k", 8},
                                                                   {"stages", 2},
                                                                   {"pdl", 0},
                                                                   {"group", group},
                                                                   {"raster", raster}})
    config.set(parameter, value);
  return config;
}

std::vector<Problem> f32_problems() {
  std::vector<Problem> problems;
  const auto add = [&](const std::vector<Problem>& plain) {
    for (Problem problem : plain) {
      if (problem.accumulator != DataType::kF32) continue;
      problem.f32_output = true;
      problem.alignment.c = std::max(problem.alignment.c, 4);
      problem.alignment.d = std::max(problem.alignment.d, 4);
      problems.push_back(*make_problem(problem));
    }
  };
  add(exactness_problems());
  add(split_problems());
  return problems;
}

std::vector<Config> f32_configs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const Family* family : kernel_families())
    for (const Config& config : pool_configs(*family, problem, target, kDirectConfigs))
      configs.push_back(config);
  for (const Config& config : workspace_configs(problem, target)) configs.push_back(config);
  return configs;
}

namespace {

class Precompiler {
 public:
  Precompiler(KernelProvider& kernels, std::string architecture)
      : kernels_(kernels), architecture_(std::move(architecture)) {
    for (const char* file : {"harness.cu", "reference.cu", "pack.cu"})
      usable_ = usable_ && kernels_.utility_cubin(file, architecture_).has_value();
  }

  void epilogues() {
    for (const Problem& problem : epilogue_problems())
      compile(with_epilogues(problem).front(), epilogue_configs(problem, target_));
  }
  void batches() {
    for (const auto& problems : {batch_problems(), far_batch_problems()})
      for (const Problem& problem : problems) compile(problem, batch_configs(problem, target_));
    for (const GroupedCase& grouped : grouped_cases())
      compile(grouped.problem, grouped_configs(grouped.problem, target_));
  }
  void f32_results() {
    for (const Problem& problem : f32_problems()) compile(problem, f32_configs(problem, target_));
  }
  void transposed() {
    for (const Problem& problem : transposed_problems())
      compile(problem, transposed_configs(problem, target_));
  }
  void others() {
    for (const Problem& problem : exactness_problems())
      compile(problem, pooled(problem, kExactnessConfigs));
    for (const Problem& problem : direct_problems())
      compile(problem, pooled(problem, kDirectConfigs));
    for (const auto& problems : {split_problems(), std::vector{shape(264, 520, 4096)}})
      for (const Problem& problem : problems) compile(problem, workspace_configs(problem, target_));
    compile(shape(1024, 1024, 2048),
            {*parse_config("sm90_ws:w2.m128.n128.s6.e1.sp2.sk2", kernel_families())});
    for (const DataType type : {DataType::kF16, DataType::kBf16})
      for (const auto& problems : {field_report_problems(type), overflow_problems(type)})
        for (const Problem& problem : problems)
          compile(problem, field_report_configs(problem, target_));
    for (const Problem& problem : bench_problems())
      compile(problem, bench_configs(problem, target_));
    for (const Problem& problem : same_kernel_problems())
      compile(problem, {bench_configs(problem, target_).at(0)});
  }
  // Says what was compiled; the exit code.
  int report() const {
    fmt::print("precompiled: configs={} bad={}\n", ready_, bad_);
    return usable_ && bad_ == 0 ? 0 : 1;
  }

 private:
  void compile(const Problem& problem, const std::vector<Config>& configs) {
    if (!usable_) return;
    const auto infos = kernels_.prepare(configs, problem, architecture_);
    usable_ = infos.has_value();
    for (std::size_t i = 0; usable_ && i < infos->size(); ++i) {
      ++ready_;
      if ((*infos)[i].status == Status::kOk) continue;
      ++bad_;
      fmt::print("{} {}: {} {}\n", describe(problem), to_text(configs[i]), name((*infos)[i].status),
                 (*infos)[i].detail);
    }
  }
  std::vector<Config> pooled(const Problem& problem, std::size_t count) const {
    std::vector<Config> configs;
    for (const Family* family : kernel_families())
      for (const Config& config : pool_configs(*family, problem, target_, count))
        configs.push_back(config);
    return configs;
  }

  KernelProvider& kernels_;
  const std::string architecture_;
  const Target target_ = *known_target("h200");
  long ready_ = 0;
  long bad_ = 0;
  bool usable_ = true;
};

}  // namespace

int precompile(std::string_view what) {
  auto kernels = NvrtcKernels::open();
  if (!kernels) {
    fmt::print(stderr, "{}\n", kernels.error().what);
    return exit_code(kernels.error().code);
  }
  Precompiler precompiler(**kernels,
                          *compile_architecture(known_target("h200")->compute_capability));
  const bool all = what.empty();
  if (all || what == "epilogues") precompiler.epilogues();
  if (all || what == "batches") precompiler.batches();
  if (all || what == "f32") precompiler.f32_results();
  if (all || what == "transposed") precompiler.transposed();
  if (all) precompiler.others();
  return precompiler.report();
}

}  // namespace gemmsmith::gpu
