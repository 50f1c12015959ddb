// The same kernel on both sides: what the protocol reports where there is no difference. Prints one
// line a shape and writes aa.csv; bench/aa.sh runs it alone.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/files.h"
#include "base/statistics.h"
#include "gpu/gpu.h"
#include "problem/shape_list.h"

namespace gemmsmith {
namespace {

constexpr std::size_t kShapes = 50;
constexpr int kQuadruples = 500;        // two pairs each: 1000 pairs a shape
constexpr std::size_t kSelection = 24;  // quadruples of one final, as the tuner takes them

TEST(SameKernel, ReportsNoDifference) {
  GEMMSMITH_NEEDS_GPU();
  Problem defaults;
  const auto grid = read_shape_list(gpu::repository_path("data/shapes/grid1000.csv"), defaults);
  ASSERT_TRUE(grid) << grid.error().what;
  BenchSettings settings;
  settings.final_us = 200;
  const auto bench = gpu::open_cuda_bench(settings);
  ASSERT_TRUE(bench) << bench.error().what;
  std::ofstream table(gpu::results_path("aa.csv"));
  table << "m,n,k,config,quadruples,median_us,ratio,ratio_low,ratio_high,false_wins,selections\n";
  std::vector<double> ratios;
  int wins = 0;
  long selection_wins = 0;
  long selections = 0;
  for (std::size_t i = 0; i < kShapes; ++i) {
    const Problem& problem = (*grid)[i * grid->size() / kShapes];
    auto problem_bench = (*bench)->bench(problem);
    ASSERT_TRUE(problem_bench) << problem_bench.error().what;
    const auto configs = (*problem_bench)->vendor_configs(1);
    ASSERT_TRUE(configs) << configs.error().what;
    std::vector<Quadruple> quadruples;
    const auto row =
        (*problem_bench)->pair_with_itself({configs->front(), "", 0}, kQuadruples, quadruples);
    ASSERT_TRUE(row) << row.error().what;
    ratios.push_back(row->ratio);
    const auto is_win = [](const Measurement& m) { return m.ratio_low > 1 && m.ratio >= 1.01; };
    wins += is_win(*row);
    long own = 0;
    for (std::size_t at = 0; at + kSelection <= quadruples.size(); at += kSelection) {
      Measurement selection;
      summarise(std::span(quadruples).subspan(at, kSelection), selection);
      own += is_win(selection);
      ++selections;
    }
    selection_wins += own;
    table << problem.m << ',' << problem.n << ',' << problem.k << ',' << row->config << ','
          << quadruples.size() << ',' << row->median_us << ',' << row->ratio << ','
          << row->ratio_low << ',' << row->ratio_high << ',' << own << ','
          << quadruples.size() / kSelection << '\n';
  }
  const double middle = median(ratios);
  fmt::print(
      "aa: shapes={} pairs={} median_ratio={:.5f} min={:.5f} max={:.5f} wins={} "
      "selection_wins={}/{}\n",
      kShapes, kShapes * kQuadruples * 2, middle, quantile(ratios, 0), quantile(ratios, 1), wins,
      selection_wins, selections);
  EXPECT_NEAR(middle, 1, 0.003);
  EXPECT_LE(wins, 1);
}

}  // namespace
}  // namespace gemmsmith
