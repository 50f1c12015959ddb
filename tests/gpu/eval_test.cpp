// What eval asks of a GPU: errors of ours, baselines between foreign kernels, latency under load.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "gpu/gpu.h"
#include "measure/bench.h"

namespace gemmsmith {
namespace {

TEST(EvalTest, ErrorsForeignBaselinesAndLatencyMakeSense) {
  GEMMSMITH_NEEDS_GPU();
  auto bench = open_bench("cuda:0", {});
  ASSERT_TRUE(bench) << bench.error().what;
  const Problem problem = gpu::bench_problems().front();
  const Config config = gpu::bench_configs(problem, (*bench)->device().target).front();

  const auto accuracy = (*bench)->accuracy(problem, config);
  ASSERT_TRUE(accuracy) << accuracy.error().what;
  EXPECT_TRUE(is_accurate(problem, *accuracy)) << accuracy->detail;
  // Rounding to f16 alone leaves some error against exact sums.
  EXPECT_GT(accuracy->bound_ratio, 0);

  const auto foreign = (*bench)->foreign_baselines(problem);
  ASSERT_TRUE(foreign) << foreign.error().what;
  ASSERT_EQ(foreign->size(), 4U);
  for (const Measurement& row : *foreign) {
    EXPECT_EQ(row.status, Status::kOk) << name(row.kind) << " " << row.detail;
    EXPECT_EQ(row.setting, Setting::kForeign);
    EXPECT_GT(row.median_us, 0.2) << name(row.kind);
  }

  std::ofstream table(gpu::results_path("serve.csv"));
  table << "target_qps,who,config,achieved_qps,requests,finished,late,mean_us,p50_us,p95_us,p99_us,"
           "max_us\n";
  for (const double qps : {100.0, 20000.0, 1e6}) {
    ServeSettings settings;
    settings.target_qps = qps;
    settings.duration_s = qps > 1e5 ? 0.2 : 1;
    settings.slice_s = settings.duration_s / 2;
    const auto reports = (*bench)->serve(problem, config, settings);
    ASSERT_TRUE(reports) << reports.error().what;
    ASSERT_EQ(reports->size(), 5U);
    for (const ServeReport& r : *reports) {
      ASSERT_EQ(r.status, Status::kOk) << name(r.kind) << " " << r.detail;
      table << qps << ',' << name(r.kind) << ',' << r.config << ',' << r.achieved_qps << ','
            << r.requests << ',' << r.finished << ',' << r.late << ',' << r.mean_us << ','
            << r.p50_us << ',' << r.p95_us << ',' << r.p99_us << ',' << r.max_us << '\n';
      fmt::print(
          "{:g} qps {:16}: {:.0f} qps, p50 {:.1f} p95 {:.1f} p99 {:.1f} max {:.1f} us, {} "
          "late of {}\n",
          qps, name(r.kind), r.achieved_qps, r.p50_us, r.p95_us, r.p99_us, r.max_us, r.late,
          r.requests);
      // No request is done sooner than a launch takes; a million a second is more than any host
      // enqueues one by one.
      EXPECT_GT(r.p50_us, 1);
      if (qps < 1e5) {
        EXPECT_EQ(r.finished, r.requests);
      } else {
        EXPECT_LT(r.achieved_qps, 0.95 * qps);
      }
    }
  }
}

}  // namespace
}  // namespace gemmsmith
