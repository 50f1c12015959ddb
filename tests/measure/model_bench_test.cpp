#include "measure/model_bench.h"

#include <gtest/gtest.h>

#include "measure/recorded_bench.h"
#include "policy/analytic_ranker.h"
#include "space/family.h"
#include "support/problems.h"
#include "vendor/lt_prediction.h"

namespace gemmsmith {
namespace {

using test::problem_of;

Config config_of(const char* text) { return *parse_config(text, kernel_families()); }

ModelBench model_of(const char* card) { return ModelBench(*known_target(card)); }

TEST(ModelBench, RowsArePredictionsWithTheirInterval) {
  ModelBench bench = model_of("h100");
  const Problem problem = problem_of(4096, 4096, 4096);
  const Config configs[] = {config_of("sm90_ws:w2.m128.n256.s4")};
  const auto rows = bench.finals(problem, configs);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  const Measurement& chained = rows->front();
  EXPECT_EQ(chained.status, Status::kOk);
  EXPECT_EQ(chained.setting, Setting::kChained);
  EXPECT_EQ(chained.median_us, policy::predicted_us(problem, configs[0], *known_target("h100")));
  EXPECT_DOUBLE_EQ(chained.low_us, chained.median_us * kKernelInterval.low);
  EXPECT_DOUBLE_EQ(chained.high_us, chained.median_us * kKernelInterval.high);
  EXPECT_LT(chained.ratio_low, chained.ratio);
  EXPECT_GT(chained.ratio_high, chained.ratio);
  EXPECT_EQ(rows->back().setting, Setting::kForeign);
  EXPECT_GE(rows->back().median_us, chained.median_us) << "programmatic launch gains nothing there";
}

TEST(ModelBench, KnowsTunedCublasLtAlone) {
  ModelBench bench = model_of("h200");
  const auto rows = bench.baselines(problem_of(1024, 1024, 1024));
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().kind, Kind::kLtTuned);
  EXPECT_EQ(rows->front().ratio, 1);
  EXPECT_TRUE(bench.vendor_configs(problem_of(64, 64, 64), 10)->empty());
}

TEST(ModelBench, RefusesWhatTheCardCannotRun) {
  ModelBench bench = model_of("a100");
  const Config configs[] = {config_of("sm90_ws:w2.m128.n256.s4"), config_of("sm80_mma:m128")};
  const auto rows = bench.screen(problem_of(4096, 4096, 4096), configs, Setting::kChained);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].status, Status::kLaunch);
  EXPECT_EQ((*rows)[0].detail, "TMA and wgmma need compute capability 9.0 (arch_is_sm90)");
  EXPECT_EQ((*rows)[1].status, Status::kOk);
}

TEST(ModelBench, IsNoCardThatWasMeasured) {
  const ModelBench bench = model_of("h200");
  EXPECT_EQ(bench.device().fingerprint(), "NVIDIA H200, 132 SMs, sm_90, predicted, not measured");
  EXPECT_TRUE(is_predicted(bench.device().fingerprint()));
  EXPECT_FALSE(is_predicted("NVIDIA H200, 132 SMs, sm_90, driver 580.159.04"));
}

TEST(ModelBench, DoesWhatNeedsAGpuNowhere) {
  ModelBench bench = model_of("h200");
  const auto counted =
      bench.count(problem_of(64, 64, 64), {Kind::kCublas, std::nullopt}, CounterScope::kStandard);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().what,
            "hardware counters can only come from a GPU, not from a recording or a model: pass "
            "--device cuda:N");
}

TEST(ModelBench, IsOpenedByItsCardsName) {
  EXPECT_TRUE(open_bench("model:a100", {}));
  const auto unknown = open_bench("model:b200", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what,
            "unknown device 'model:b200': expected cuda:N, recorded:FILE or model:a100|h100|h200");
}

// The intervals are promises: each holds 95 % of what was recorded.
TEST(ModelBench, IntervalsHoldWhatWasRecorded) {
  const auto device =
      RecordedDevice::open(GEMMSMITH_SOURCE_DIR "/data/recordings/h200/fast772_f16_f32_tn.csv.zst");
  ASSERT_TRUE(device) << device.error().what;
  const Target& target = device->info().target;
  long kernels = 0, kernels_inside = 0, lt = 0, lt_inside = 0;
  const auto is_inside = [](double measured, double predicted, const PredictionInterval& of) {
    return measured >= predicted * of.low && measured <= predicted * of.high;
  };
  for (const Measurement& row : device->rows()) {
    if (row.status != Status::kOk || row.setting != Setting::kChained) continue;
    if (row.kind == Kind::kKernel && row.stage == Stage::kScreen) {
      ++kernels;
      kernels_inside += is_inside(
          row.median_us, policy::predicted_us(row.problem, config_of(row.config.c_str()), target),
          kKernelInterval);
    } else if (row.kind == Kind::kLtTuned && row.stage == Stage::kFinal) {
      ++lt;
      lt_inside +=
          is_inside(row.median_us, vendor::predicted_lt_us(row.problem, target), kLtTunedInterval);
    }
  }
  EXPECT_GT(kernels, 20000);
  EXPECT_GT(lt, 700);
  EXPECT_GE(static_cast<double>(kernels_inside), 0.95 * static_cast<double>(kernels));
  EXPECT_GE(static_cast<double>(lt_inside), 0.95 * static_cast<double>(lt));
}

}  // namespace
}  // namespace gemmsmith
