// Every family on ragged and tiny shapes, paddings, scalars and types: the bench's own verifier
// must find nothing. Candidates run in the worker, so one that hangs costs only itself.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <vector>

#include "gpu/gpu.h"
#include "measure/worker_bench.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

using ConfigsOf = std::function<std::vector<Config>(const Problem&, const Target&)>;

// Screens each problem's configs, writes the outcomes into a table and expects them to be exact.
void expect_exact(const std::vector<Problem>& problems, const ConfigsOf& configs_of,
                  const char* table_name) {
  auto kernels = NvrtcKernels::open();
  ASSERT_TRUE(kernels) << kernels.error().what;
  BenchSettings settings;
  settings.screen_us = 20;  // this is about results
  settings.screen_repeats = 1;
  settings.candidate_timeout_s = 5;
  auto bench = WorkerBench::open(0, settings, std::move(*kernels));
  ASSERT_TRUE(bench) << bench.error().what;
  std::ofstream table(gpu::results_path(table_name));
  table << "problem,config,status,detail\n";
  int checked = 0;
  const Target& target = (*bench)->device().target;
  for (const Problem& problem : problems) {
    const auto rows = (*bench)->screen(problem, configs_of(problem, target), Setting::kChained);
    ASSERT_TRUE(rows) << rows.error().what;
    for (const Measurement& row : *rows) {
      EXPECT_EQ(row.status, Status::kOk)
          << describe(row.problem) << " " << row.config << ": " << row.detail;
      table << describe(row.problem) << "," << row.config << "," << name(row.status) << ",\""
            << row.detail << "\"\n";
      ++checked;
    }
  }
  fmt::print("checked={} problems={}\n", checked, problems.size());
  EXPECT_GT(checked, 100);
}

TEST(Exactness, EveryFamilyOnRaggedAndTinyShapes) {
  GEMMSMITH_NEEDS_GPU();
  expect_exact(
      gpu::exactness_problems(),
      [](const Problem& problem, const Target& target) {
        std::vector<Config> configs;
        for (const Family* family : kernel_families())
          for (const Config& config :
               gpu::pool_configs(*family, problem, target, gpu::kExactnessConfigs))
            configs.push_back(config);
        for (const Config& config : gpu::workspace_configs(problem, target))
          configs.push_back(config);
        return configs;
      },
      "exactness.csv");
}

TEST(Exactness, SplitsOfALongK) {
  GEMMSMITH_NEEDS_GPU();
  expect_exact(gpu::split_problems(), gpu::workspace_configs, "exactness_splits.csv");
}

TEST(Exactness, TransposedKernels) {
  GEMMSMITH_NEEDS_GPU();
  expect_exact(gpu::transposed_problems(), gpu::transposed_configs, "exactness_transposed.csv");
}

TEST(Exactness, F32Results) {
  GEMMSMITH_NEEDS_GPU();
  expect_exact(gpu::f32_problems(), gpu::f32_configs, "exactness_f32.csv");
}

}  // namespace
}  // namespace gemmsmith
