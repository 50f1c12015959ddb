// Every family on ragged and tiny shapes, paddings, scalars and types: the bench's own verifier
// must find nothing. Candidates run in the worker, so one that hangs costs only itself.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "gpu/gpu.h"
#include "measure/worker_bench.h"
#include "space/family.h"
#include "space/space.h"

namespace gemmsmith {
namespace {

constexpr std::int64_t kShapes[][3] = {
    {1, 1, 8},        {1, 8, 16},     {7, 9, 24},      {16, 16, 4096}, {17, 33, 40},
    {64, 64, 64},     {65, 129, 72},  {127, 255, 136}, {128, 256, 64}, {129, 257, 264},
    {200, 136, 1000}, {300, 70, 520}, {512, 48, 2048}, {2048, 40, 64}};
constexpr int kConfigsPerShape = 10;

// Evenly spread over the legal kernels of a family; launch parameters alternate.
std::vector<Config> spread(const Family& family, const Problem& problem, const Target& target) {
  const SpaceContext context{problem, target};
  std::vector<Config> all;
  enumerate_kernels(family, context, [&all](const Config& config) {
    all.push_back(config);
    return all.size() < 200000;
  });
  std::vector<Config> chosen;
  const std::size_t step = std::max<std::size_t>(1, all.size() / kConfigsPerShape);
  for (std::size_t i = step / 2; i < all.size() && chosen.size() < kConfigsPerShape; i += step) {
    Config config = all[i];
    for (const char* parameter : {"persistent", "pdl", "raster"}) {
      Config other = config;
      if (family.index_of(parameter) < 0) continue;
      other.set(parameter, 1 - other.at(parameter));
      if (chosen.size() % 2 == 1 && broken_rule(context, other) == nullptr) config = other;
    }
    chosen.push_back(config);
  }
  return chosen;
}

std::vector<Problem> variants(Problem problem) {
  std::vector<Problem> problems = {problem};
  Problem padded = problem;
  padded.lda = padded.ldb = (problem.k + 7) / 8 * 8 + 8;
  padded.ldc = padded.ldd = (problem.n + 7) / 8 * 8 + 8;
  padded.alpha = 0.5F;
  padded.beta = -2;
  problems.push_back(padded);
  Problem bf16 = problem;
  bf16.type = DataType::kBf16;
  problems.push_back(bf16);
  Problem narrow = problem;
  narrow.accumulator = DataType::kF16;
  problems.push_back(narrow);
  return problems;
}

TEST(Exactness, EveryFamilyOnRaggedAndTinyShapes) {
  GEMMSMITH_NEEDS_GPU();
  auto kernels = NvrtcKernels::open();
  ASSERT_TRUE(kernels) << kernels.error().what;
  BenchSettings settings;
  settings.screen_us = 20;  // this is about results
  settings.screen_repeats = 1;
  settings.candidate_timeout_s = 5;
  auto bench = WorkerBench::open(0, settings, std::move(*kernels));
  ASSERT_TRUE(bench) << bench.error().what;
  std::ofstream table(gpu::results_path("exactness.csv"));
  table << "problem,config,status,detail\n";
  int checked = 0;
  for (std::size_t s = 0; s < std::size(kShapes); ++s) {
    const std::vector<Problem> all =
        variants(gpu::shape(kShapes[s][0], kShapes[s][1], kShapes[s][2]));
    // The plain problem always, one of its variants in turn.
    for (const std::size_t v : {std::size_t{0}, 1 + s % (all.size() - 1)}) {
      std::vector<Config> configs;
      for (const Family* family : kernel_families()) {
        const std::vector<Config> own = spread(*family, all[v], (*bench)->device().target);
        configs.insert(configs.end(), own.begin(), own.end());
      }
      const auto rows = (*bench)->screen(all[v], configs);
      ASSERT_TRUE(rows) << rows.error().what;
      for (const Measurement& row : *rows) {
        EXPECT_EQ(row.status, Status::kOk)
            << describe(row.problem) << " " << row.config << ": " << row.detail;
        table << describe(row.problem) << "," << row.config << "," << name(row.status) << ",\""
              << row.detail << "\"\n";
        ++checked;
      }
    }
  }
  fmt::print("checked={} problems={}\n", checked, 2 * std::size(kShapes));
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace gemmsmith
