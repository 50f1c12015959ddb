// What a live shape makes of timings: a baseline first, then a judgement, and an order that the
// process can carry out. A run that was recorded is judged the same again.
#include "monitor/live_shape.h"

#include <gtest/gtest.h>

#include "monitor/series.h"
#include "monitor/series_writer.h"
#include "space/family.h"

namespace gemmsmith::monitor {
namespace {

double baseline_of(double promised_us, double first_us) {
  Baseline baseline(promised_us);
  for (std::size_t i = 1; i < Baseline::kTimings; ++i) {
    EXPECT_FALSE(baseline.add(first_us));
    EXPECT_FALSE(baseline.us());
  }
  EXPECT_TRUE(baseline.add(first_us));
  EXPECT_FALSE(baseline.add(1e6));
  return baseline.us().value_or(0);
}

TEST(MonitorBaseline, BelievesTheFirstTimingsAsFarAsEventsExplainThem) {
  EXPECT_EQ(baseline_of(200, 204), 204);
  EXPECT_EQ(baseline_of(200, 150), 200);         // operands still in L2
  EXPECT_DOUBLE_EQ(baseline_of(200, 400), 230);  // slow from its start
  EXPECT_EQ(baseline_of(5, 9), 9);
  EXPECT_EQ(baseline_of(5, 50), 15.5);
  EXPECT_EQ(baseline_of(0, 50), 50);  // nothing was promised
}

TEST(MonitorBaseline, AFewOutliersDoNotMatter) {
  Baseline baseline(0);
  for (std::size_t i = 0; i < Baseline::kTimings; ++i) baseline.add(i < 4 ? 5000 : 10);
  EXPECT_EQ(*baseline.us(), 10);
}

watch::SeenShape seen_shape() {
  watch::SeenShape seen;
  seen.key.m = seen.key.n = seen.key.k = 4096;
  seen.key.accumulator = static_cast<std::uint8_t>(DataType::kF32);
  seen.device = "GPU-00";
  seen.plan = "sm90_ws:w2.m128.n128.k128.s2";
  seen.promised_us = 200;
  seen.promised_library_us = 220;
  seen.alternates = {"sm90_ws:w2.m128.n256", "sm90_ws:w2.m128.n128.s2"};
  return seen;
}

// Timings at 20 a second, as a process that obeys would tell them.
class LiveRun {
 public:
  explicit LiveRun(watch::SeenShape seen = seen_shape(),
                   const std::string& policy = std::string(default_policy_text()))
      : policy_(*parse_policy(policy, "p")),
        writer_(policy_),
        shape_(*LiveShape::make(seen, policy_, *known_target("h200"), kernel_families())),
        series(writer_.header()) {}

  // `count` timings; the plan takes `plan_us`, all else `other_us`.
  std::vector<Decision> see(int count, float plan_us, float other_us, std::uint64_t reasons = 0) {
    GpuSample gpu;
    gpu.throttle_reasons = reasons;
    gpu.power_w = 350;
    gpu.power_limit_w = 700;
    std::vector<Decision> decisions;
    for (int i = 0; i < count; ++i) {
      const watch::Order order = shape_.order();
      watch::Timing timing;
      timing.time_ns = (now_ns_ += 50'000'000);
      timing.is_probe = order.serving != watch::kPlan && ++probes_ % 4 == 0;
      timing.serving = timing.is_probe ? order.probe : order.serving;
      timing.latency_us = timing.serving == watch::kPlan ? plan_us : other_us;
      const auto look = shape_.look(timing, gpu, static_cast<double>(now_ns_) * 1e-9);
      if (!look) continue;
      series += writer_.line(shape_, *look, gpu);
      if (auto decision = shape_.judge(*look, timing)) decisions.push_back(*decision);
    }
    return decisions;
  }
  LiveShape& shape() { return shape_; }

 private:
  Policy policy_;
  SeriesWriter writer_;
  LiveShape shape_;
  std::uint64_t now_ns_ = 0;
  int probes_ = 0;

 public:
  std::string series;
};

TEST(MonitorLiveShape, ThrashedItLeavesThePlanAndReturns) {
  LiveRun run;
  EXPECT_TRUE(run.see(100, 205, 0).empty());
  // Five medians in a row, the first with the third late timing.
  EXPECT_TRUE(run.see(6, 320, 0).empty());
  const auto left = run.see(1, 320, 0);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].action, "next_plan");
  EXPECT_EQ(serving_text(left[0].to), "sm90_ws:w2.m128.n256");
  EXPECT_EQ(run.shape().order().serving, watch::kFirstAlternate);
  EXPECT_EQ(run.shape().order().probe, watch::kPlan);
  // The next one is no better, nor is the other: the library, which keeps its own promise.
  const auto on = run.see(30, 320, 300);
  ASSERT_GE(on.size(), 2U);
  EXPECT_EQ(serving_text(on[0].to), "sm90_ws:w2.m128.n128.s2");
  EXPECT_EQ(serving_text(on[1].to), "cublaslt heuristic");
  EXPECT_EQ(run.shape().order().serving, watch::kLibrary);
  EXPECT_EQ(run.shape().order().probe, watch::kFirstAlternate + 1);
  run.see(100, 320, 300);
  EXPECT_EQ(run.shape().order().serving, watch::kLibrary);
  // Over: step by step, each after 20 good probes.
  const auto back = run.see(400, 205, 210);
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(serving_text(back[2].to), "sm90_ws:w2.m128.n128.k128.s2");
  EXPECT_EQ(run.shape().order().word(), 0U);
}

// Launches that something else delayed, two of five, neither drive a plan away nor keep it away.
TEST(MonitorLiveShape, SingleLateLaunchesSayNothing) {
  LiveRun run;
  run.see(100, 205, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(run.see(3, 205, 0).empty());
    EXPECT_TRUE(run.see(2, 900, 0).empty());
  }
  ASSERT_EQ(run.see(7, 320, 0).size(), 1U);
  bool is_back = false;
  for (int i = 0; i < 100 && !is_back; ++i) {
    run.see(8, 900, 210);
    run.see(12, 205, 210);
    is_back = run.shape().order().word() == 0;
  }
  EXPECT_TRUE(is_back);
}

TEST(MonitorLiveShape, ThrottledItKeepsThePlan) {
  LiveRun run;
  run.see(100, 205, 0);
  const auto held = run.see(100, 320, 0, 0x4);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_STREQ(name(held[0].verb), "hold");
  EXPECT_EQ(run.shape().order().word(), 0U);
}

TEST(MonitorLiveShape, ARunThatIsSlowFromItsStartIsSeen) {
  LiveRun run;
  EXPECT_EQ(run.see(25, 400, 300).size(), 1U);
}

// An order that the process cannot carry out does not make its shape look healthy, nor hold it up.
TEST(MonitorLiveShape, AnOrderThatIsNotObeyedIsNotTheEnd) {
  LiveRun run;
  run.see(100, 205, 0);
  ASSERT_EQ(run.see(7, 320, 0).size(), 1U);
  const GpuSample gpu;
  int decisions = 0;
  watch::Timing timing;
  timing.latency_us = 320;
  timing.serving = watch::kPlan;
  timing.time_ns = watch::now_ns();
  EXPECT_FALSE(run.shape().look(timing, gpu, 10));  // called just before the order
  timing.time_ns += 1'000'000'000;
  for (int i = 0; i < 5; ++i) {
    const auto look = run.shape().look(timing, gpu, 10);
    ASSERT_TRUE(look);
    decisions += run.shape().judge(*look, timing) ? 1 : 0;
  }
  EXPECT_EQ(decisions, 1);
}

TEST(MonitorLiveShape, APlanThatNoFamilyKnowsIsNotWatched) {
  watch::SeenShape seen = seen_shape();
  seen.plan = "sm70_old:m64";
  EXPECT_FALSE(LiveShape::make(seen, *parse_policy(default_policy_text(), "p"),
                               *known_target("h200"), kernel_families()));
}

TEST(MonitorLiveShape, ARecordedRunIsJudgedTheSameAgain) {
  LiveRun run;
  std::vector<Decision> live = run.see(100, 205, 0);
  for (const auto& more : {run.see(40, 320, 300), run.see(400, 205, 210)})
    live.insert(live.end(), more.begin(), more.end());
  const auto series = parse_series(run.series, "run.csv", {});
  ASSERT_TRUE(series) << series.error().what;
  const Policy policy = *parse_policy(default_policy_text(), "p");
  ASSERT_TRUE(check_metrics(policy, series->present, "run.csv"));
  std::vector<Config> at_hand;
  for (const std::string& text : series->alternates[0])
    at_hand.push_back(*parse_config(text, kernel_families()));
  Engine engine(policy, *known_target("h200"),
                [&](const Problem&, const std::vector<Config>& tried) -> std::optional<Config> {
                  for (const Config& config : at_hand)
                    if (std::find(tried.begin(), tried.end(), config) == tried.end()) return config;
                  return std::nullopt;
                });
  engine.serve(series->plans[0].first, *parse_config(series->plans[0].second, kernel_families()));
  std::vector<Decision> again;
  for (const Sample& sample : series->samples)
    if (auto decision = engine.judge(sample)) again.push_back(*decision);
  ASSERT_EQ(again.size(), live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    EXPECT_EQ(again[i].action, live[i].action);
    EXPECT_EQ(serving_text(again[i].to), serving_text(live[i].to));
    EXPECT_NEAR(again[i].t_s, live[i].t_s, 1e-3);
  }
}

}  // namespace
}  // namespace gemmsmith::monitor
