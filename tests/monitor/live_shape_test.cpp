// What a live shape makes of timings: a baseline first, then a judgement, and an order that the
// process can carry out. A run that was recorded is judged the same again.
#include "monitor/live_shape.h"

#include <gtest/gtest.h>

#include <random>

#include "monitor/series.h"
#include "monitor/series_writer.h"
#include "space/family.h"

namespace gemmsmith::monitor {
namespace {

double baseline_of(double promised_us, double first_us, double cold_us = 60) {
  Baseline baseline(promised_us, cold_us);
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

// Promised under a power cap, served at full clocks: what a cold start explains is granted.
TEST(MonitorBaseline, AProcessThatIsSteadilyBetterIsHeldToItsOwnLevel) {
  EXPECT_EQ(baseline_of(398, 312, 45), 357);
  EXPECT_EQ(baseline_of(398, 380, 45), 398);  // never to more than was promised
  EXPECT_EQ(baseline_of(10.8, 8, 7.5), 10.8);
}

TEST(MonitorBaseline, WhatEventsCannotTellIsKept) {
  EXPECT_EQ(latency_ratio(16, 16), 1);
  EXPECT_EQ(latency_ratio(17.9, 16), 1);
  EXPECT_EQ(latency_ratio(22, 16), 1.25);
  EXPECT_EQ(latency_ratio(8, 16), 0.5);
  EXPECT_EQ(latency_ratio(1, 0.5), 1);
}

TEST(MonitorBaseline, AFewOutliersDoNotMatter) {
  Baseline baseline(0, 0);
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
  std::vector<Decision> see(int count, float plan_us, float other_us, std::uint64_t reasons = 0,
                            std::optional<double> processes = std::nullopt) {
    GpuSample gpu;
    gpu.compute_processes = processes;
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
  // Five medians in a row, the first with the eleventh late timing of 21.
  EXPECT_TRUE(run.see(14, 320, 0).empty());
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
  EXPECT_EQ(run.shape().order().probe, watch::kPlan);
  run.see(100, 320, 300);
  EXPECT_EQ(run.shape().order().serving, watch::kLibrary);
  // Over: the plan is back after 20 good probes, although the others are slow by their nature.
  const auto back = run.see(400, 205, 290);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(serving_text(back[0].to), "sm90_ws:w2.m128.n128.k128.s2");
  EXPECT_EQ(run.shape().order().word(), 0U);
}

// 4096^3 has 100.7 MB to move, 21 us at 4.8 TB/s: 21 us above its own 160 us is no reason yet, and
// 1.25 times as much, below the 250 us that the promise alone would allow, is one.
TEST(MonitorLiveShape, AProcessThatIsBetterThanPromisedIsHeldToItsOwnLevel) {
  LiveRun run;
  run.see(100, 160, 0);
  EXPECT_NEAR(*run.shape().baseline().us(), 181, 0.1);
  EXPECT_TRUE(run.see(100, 225, 0).empty());
  ASSERT_EQ(run.see(15, 230, 0).size(), 1U);
  // What serves instead is held to no more: the library, that promised 220 us, to 199 us.
  run.see(60, 230, 230);
  EXPECT_EQ(run.shape().order().serving, watch::kLibrary);
  run.see(300, 160, 150);
  EXPECT_EQ(run.shape().order().word(), 0U);
}

// Healthy timings of this GPU: 3 % to and fro, and every tenth launch late. An hour of them.
TEST(MonitorLiveShape, NoiseIsNoReason) {
  LiveRun run;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> noise(0.97F, 1.03F);
  std::bernoulli_distribution is_late(0.1);
  for (int i = 0; i < 72000; ++i)
    ASSERT_TRUE(run.see(1, is_late(random) ? 900 : 203 * noise(random), 210).empty()) << i;
}

TEST(MonitorLiveShape, AnotherProcessThatCameIsNamed) {
  LiveRun run;
  run.see(100, 205, 0, 0, 1);
  const auto left = run.see(15, 320, 0, 0, 2);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(
      left[0].reason,
      "latency_ratio was above 1.25 in 5 samples, last 1.551; processes on the GPU: 2, at its "
      "first timings 1");
  const auto back = run.see(400, 205, 210, 0, 1);
  ASSERT_FALSE(back.empty());
  EXPECT_EQ(back[0].reason.find("processes"), std::string::npos);
  // Where they cannot be counted at first, later ones say nothing.
  LiveRun blind;
  blind.see(100, 205, 0);
  const auto unknown = blind.see(15, 320, 0, 0, 2);
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].reason.find("processes"), std::string::npos);
}

// Launches that something else delayed, two of five, neither drive a plan away nor keep it away.
TEST(MonitorLiveShape, SingleLateLaunchesSayNothing) {
  LiveRun run;
  run.see(100, 205, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(run.see(3, 205, 0).empty());
    EXPECT_TRUE(run.see(2, 900, 0).empty());
  }
  ASSERT_EQ(run.see(15, 320, 0).size(), 1U);
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
  EXPECT_EQ(run.see(30, 400, 300).size(), 1U);
}

// An order that the process cannot carry out does not make its shape look healthy, nor hold it up.
TEST(MonitorLiveShape, AnOrderThatIsNotObeyedIsNotTheEnd) {
  LiveRun run;
  run.see(100, 205, 0);
  ASSERT_EQ(run.see(15, 320, 0).size(), 1U);
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
