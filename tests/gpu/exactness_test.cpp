// Every family on ragged and tiny shapes, paddings, scalars and types: the bench's own verifier
// must find nothing. Candidates run in the worker, so one that hangs costs only itself.
#include <gtest/gtest.h>

#include <fstream>

#include "gpu/gpu.h"
#include "measure/worker_bench.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

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
  const Target& target = (*bench)->device().target;
  std::vector<Problem> problems = gpu::exactness_problems();
  const std::size_t ragged_and_tiny = problems.size();
  for (const Problem& problem : gpu::split_problems()) problems.push_back(problem);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Problem& problem = problems[i];
    std::vector<Config> configs;
    if (i < ragged_and_tiny)
      for (const Family* family : kernel_families())
        for (const Config& config :
             gpu::pool_configs(*family, problem, target, gpu::kExactnessConfigs))
          configs.push_back(config);
    for (const Config& config : gpu::workspace_configs(problem, target)) configs.push_back(config);
    const auto rows = (*bench)->screen(problem, configs, Setting::kChained);
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

}  // namespace
}  // namespace gemmsmith
