// The bench on the GPU itself: baselines, vendor configs, screening and finals of a few shapes give
// rows that make sense, and quickly enough for a grid of a thousand shapes.
#include "measure/bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu/gpu.h"
#include "measure/worker_bench.h"

namespace gemmsmith {
namespace {

TEST(CudaBenchTest, MeasuresFourBaselinesCandidatesAndFinals) {
  GEMMSMITH_NEEDS_GPU();
  auto bench = open_bench("cuda:0", {});
  ASSERT_TRUE(bench) << bench.error().what;
  std::ofstream table(gpu::results_path("bench.csv"));
  table << "problem,kind,stage,setting,cache,config,status,median_us,ratio,ratio_low,ratio_high\n";
  const auto write = [&table](const std::vector<Measurement>& rows) {
    for (const Measurement& row : rows)
      table << describe(row.problem) << ',' << name(row.kind) << ',' << name(row.stage) << ','
            << name(row.setting) << ',' << name(row.cache) << ',' << row.config << ','
            << name(row.status) << ',' << row.median_us << ',' << row.ratio << ',' << row.ratio_low
            << ',' << row.ratio_high << '\n';
  };
  for (const Problem& problem : gpu::bench_problems()) {
    const auto start = std::chrono::steady_clock::now();
    const auto baselines = (*bench)->baselines(problem);
    ASSERT_TRUE(baselines) << baselines.error().what;
    ASSERT_EQ(baselines->size(), 4U);
    for (const Measurement& row : *baselines) {
      EXPECT_EQ(row.status, Status::kOk)
          << describe(problem) << " " << name(row.kind) << " " << row.detail;
      EXPECT_LT(row.ratio, 1.05) << name(row.kind) << " beats lt_tuned on " << describe(problem);
    }
    std::vector<Config> configs = gpu::bench_configs(problem, (*bench)->device().target);
    const auto vendor = (*bench)->vendor_configs(problem, 24);
    ASSERT_TRUE(vendor) << vendor.error().what;
    configs.insert(configs.end(), vendor->begin(), vendor->end());
    const auto screened = (*bench)->screen(problem, configs, Setting::kChained);
    ASSERT_TRUE(screened) << screened.error().what;
    ASSERT_EQ(screened->size(), configs.size());
    std::size_t best = 0;
    for (std::size_t i = 0; i < screened->size(); ++i)
      if ((*screened)[i].status == Status::kOk && (*screened)[i].ratio > (*screened)[best].ratio)
        best = i;
    const auto between = (*bench)->screen(problem, std::span(&configs[best], 1), Setting::kForeign);
    ASSERT_TRUE(between) << between.error().what;
    EXPECT_EQ(between->front().status, Status::kOk) << between->front().detail;
    const auto finals = (*bench)->finals(problem, std::span(&configs[best], 1));
    ASSERT_TRUE(finals) << finals.error().what;
    ASSERT_EQ(finals->size(), 2U);
    // A semi-final is a short final: it must see the same.
    EXPECT_NEAR(between->front().ratio / (*finals)[1].ratio, 1, 0.15) << describe(problem);
    const double wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(
        "{}: lt_tuned {:.2f} us, best {} chained {:.3f} [{:.3f} {:.3f}] foreign {:.3f}, "
        "{} configs, {:.2f} s\n",
        describe(problem), baselines->back().median_us, (*finals)[0].config, (*finals)[0].ratio,
        (*finals)[0].ratio_low, (*finals)[0].ratio_high, (*finals)[1].ratio, configs.size(),
        wall_s);
    write(*baselines);
    write(*screened);
    write(*between);
    write(*finals);
  }
  std::ofstream(gpu::results_path("bench_conditions.json")) << (*bench)->conditions() << '\n';
  fmt::print("{}\n", nlohmann::json::parse((*bench)->conditions())["workers"].dump(1));
}

}  // namespace
}  // namespace gemmsmith
