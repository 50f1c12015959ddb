// What the engine decides about series of samples: it leaves a healthy plan alone, waits before it
// acts, tries what the policy lists in that order, and comes back without swinging to and fro.
#include "monitor/engine.h"

#include <gtest/gtest.h>

#include "space/family.h"

namespace gemmsmith::monitor {
namespace {

constexpr double kInterval = 0.5;  // seconds between samples

Problem problem() {
  Problem p;
  p.m = p.n = 4096;
  p.k = 4096;
  return *make_problem(p);
}

Config config(const char* text) { return *parse_config(text, kernel_families()); }

// A run of one problem: each sample is what was seen half a second after the one before.
class WatchedRun {
 public:
  explicit WatchedRun(
      NextPlan next = [](const Problem&,
                         const std::vector<Config>&) { return std::optional<Config>(); },
      const std::string& policy = std::string(default_policy_text()),
      const char* plan = "sm90_ws:w2.m128.n128.k128.s2")
      : engine_(*parse_policy(policy, "policy"), *known_target("h200"), std::move(next)) {
    engine_.serve(problem(), config(plan));
  }

  // `count` samples alike; the decisions that came of them.
  std::vector<Decision> see(int count, double l2_miss_pct, double latency_ratio,
                            bool throttled = false) {
    std::vector<Decision> decisions;
    for (int i = 0; i < count; ++i) {
      Sample sample;
      sample.t_s = now_ += kInterval;
      sample.problem = problem();
      sample.values.resize(metrics().size());
      sample.values[0] = latency_ratio;
      sample.values[1] = l2_miss_pct;
      sample.throttled = throttled;
      if (auto decision = engine_.judge(sample)) decisions.push_back(*decision);
    }
    return decisions;
  }
  std::string serving() const { return serving_text(engine_.serving(problem())); }
  double now() const { return now_; }

 private:
  Engine engine_;
  double now_ = 0;
};

TEST(MonitorEngine, AHealthyRunIsLeftAlone) {
  WatchedRun run;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(run.see(1, 8 + i % 10, 0.95 + 0.01 * (i % 20)).empty());
    // A bad look now and then is no trend.
    EXPECT_TRUE(run.see(2, i % 2 == 0 ? 60 : 5, i % 2 == 0 ? 1.1 : 3).empty());
    EXPECT_TRUE(run.see(1, 5, 1).empty());
  }
  EXPECT_EQ(run.serving(), "sm90_ws:w2.m128.n128.k128.s2");
}

// A second process streams through L2: the plan is left within 5 seconds, step by step, and comes
// back at once when that is over.
TEST(MonitorEngine, AThrashedRunIsRolledBackAndReturns) {
  WatchedRun run;
  run.see(20, 10, 1);
  const double begin = run.now();
  const auto first = run.see(3, 45, 1.1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_LE(first[0].t_s - begin, 5);
  EXPECT_STREQ(name(first[0].verb), "leave");
  EXPECT_EQ(first[0].rule, "l2_thrash");
  EXPECT_EQ(first[0].metric, "l2_miss_pct");
  EXPECT_EQ(first[0].value, 45);
  EXPECT_EQ(first[0].threshold, 20);
  EXPECT_EQ(first[0].samples, 3);
  EXPECT_EQ(first[0].action, "smaller_tile_k");
  EXPECT_EQ(serving_text(first[0].from), "sm90_ws:w2.m128.n128.k128.s2");
  EXPECT_EQ(serving_text(first[0].to), "sm90_ws:w2.m128.n128.s2");
  EXPECT_EQ(first[0].reason, "l2_miss_pct was above 20 in 3 samples, last 45");

  // No smaller tile K and no next plan: the heuristic.
  const auto second = run.see(3, 45, 1.1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].action, "cublaslt");
  EXPECT_EQ(run.serving(), "cublaslt heuristic");

  // Behind the heuristic is nothing; that is said once.
  const auto held = run.see(30, 45, 1.1);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_STREQ(name(held[0].verb), "hold");
  EXPECT_EQ(held[0].reason, "nothing is left to try");

  const auto back = run.see(20, 9, 1);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_STREQ(name(back[0].verb), "return");
  EXPECT_EQ(serving_text(back[0].to), "sm90_ws:w2.m128.n128.k128.s2");
  EXPECT_EQ(back[0].reason, "l2_miss_pct was at most 15 in 10 samples, last 9");
  EXPECT_TRUE(run.see(100, 9, 1).empty());
}

// Every plan is slow while the clocks are held down: nothing to gain from another.
TEST(MonitorEngine, AThrottledRunKeepsItsPlanAndSaysWhy) {
  WatchedRun run;
  const auto held = run.see(60, 10, 1.4, true);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_STREQ(name(held[0].verb), "hold");
  EXPECT_EQ(held[0].rule, "slower_than_promised");
  EXPECT_EQ(held[0].reason, "the clocks are held down, which slows every plan");
  EXPECT_EQ(run.serving(), "sm90_ws:w2.m128.n128.k128.s2");
  // The same at full clocks is the plan's own fault.
  const auto left = run.see(5, 10, 1.4);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_STREQ(name(left[0].verb), "leave");
  EXPECT_EQ(left[0].action, "cublaslt");
}

// A power cap lets the clocks go again and again; a look at such a moment says nothing new.
TEST(MonitorEngine, AMomentAtFullClocksIsNoReasonToLeave) {
  WatchedRun run;
  ASSERT_EQ(run.see(60, 10, 1.4, true).size(), 1U);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(run.see(4, 10, 1.4, false).empty());
    EXPECT_TRUE(run.see(1, 10, 1.4, true).empty());
  }
  EXPECT_EQ(run.see(5, 10, 1.4, false).size(), 1U);
}

TEST(MonitorEngine, BetweenTheThresholdsNothingMoves) {
  WatchedRun run;
  ASSERT_EQ(run.see(3, 45, 1).size(), 1U);
  // Not bad any more, and not good enough to come back.
  EXPECT_TRUE(run.see(500, 18, 1).empty());
  EXPECT_EQ(run.serving(), "sm90_ws:w2.m128.n128.s2");
}

// A plan that turns bad whenever it is back waits twice as long each time.
TEST(MonitorEngine, AReturnThatWasTooEarlyMakesThenNextOneWait) {
  WatchedRun run;
  ASSERT_EQ(run.see(3, 45, 1).size(), 1U);
  ASSERT_EQ(run.see(10, 5, 1).size(), 1U);  // back
  const auto again = run.see(3, 45, 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].reason,
            "l2_miss_pct was above 20 in 3 samples, last 45; the return was too early, the next "
            "waits 20 samples");
  EXPECT_TRUE(run.see(19, 5, 1).empty());
  EXPECT_EQ(run.see(1, 5, 1).size(), 1U);
  // A return that lasted is forgiven.
  run.see(200, 5, 1);
  ASSERT_EQ(run.see(3, 45, 1).size(), 1U);
  EXPECT_EQ(run.see(10, 5, 1).size(), 1U);
}

TEST(MonitorEngine, NextPlansAreTakenInOrderAndOnceEach) {
  const std::vector<const char*> plans = {"sm90_ws:w2.m128.n192", "sm90_ws:w2.m128.n256"};
  WatchedRun run(
      [&](const Problem&, const std::vector<Config>& tried) -> std::optional<Config> {
        for (const char* plan : plans)
          if (std::find(tried.begin(), tried.end(), config(plan)) == tried.end())
            return config(plan);
        return std::nullopt;
      },
      std::string(default_policy_text()), "sm90_ws:w2.m128.n128.s2");
  std::string order;
  for (int i = 0; i < 3; ++i) {
    const auto decisions = run.see(3, 45, 1);
    ASSERT_EQ(decisions.size(), 1U);
    order += decisions[0].action + " " + run.serving() + "\n";
  }
  EXPECT_EQ(order,
            "next_plan sm90_ws:w2.m128.n192\n"
            "next_plan sm90_ws:w2.m128.n256\n"
            "cublaslt cublaslt heuristic\n");
}

// A running process compiles nothing: what it does not have is passed over, and that is said.
TEST(MonitorEngine, OnlyWhatCanBeServedIsTaken) {
  Engine engine(
      *parse_policy(default_policy_text(), "p"), *known_target("h200"),
      [](const Problem&, const std::vector<Config>&) { return std::optional<Config>(); },
      [](const Problem&, const Config&) { return false; });
  engine.serve(problem(), config("sm90_ws:w2.m128.n128.k128.s2"));
  Sample bad;
  bad.problem = problem();
  bad.values.resize(metrics().size());
  bad.values[1] = 50;
  engine.judge(bad);
  engine.judge(bad);
  const auto left = engine.judge(bad);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->action, "cublaslt");
  EXPECT_EQ(left->reason,
            "l2_miss_pct was above 20 in 3 samples, last 50; not possible here: smaller_tile_k, "
            "next_plan");
  ASSERT_NE(engine.left(problem()), nullptr);
  EXPECT_EQ(serving_text(*engine.left(problem())), "sm90_ws:w2.m128.n128.k128.s2");
}

// While the library serves well, the plan may still be slow: its own samples decide.
TEST(MonitorEngine, TheWayBackIsJudgedByWhatWasLeft) {
  Engine engine(*parse_policy(default_policy_text(), "p"), *known_target("h200"),
                [](const Problem&, const std::vector<Config>&) { return std::optional<Config>(); });
  engine.serve(problem(), config("sm90_ws:w2.m128.n128.s2"));
  const auto see = [&](double ratio, bool of_left) {
    Sample sample;
    sample.problem = problem();
    sample.values.resize(metrics().size());
    sample.values[0] = ratio;
    sample.of_left = of_left;
    return engine.judge(sample);
  };
  EXPECT_FALSE(see(2, true));  // nothing was left yet
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(see(2, false));
  ASSERT_TRUE(see(2, false));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(see(1, false)) << i;
    if (i % 4 == 0) {
      EXPECT_FALSE(see(2, true)) << i;
    }
  }
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(see(1, true)) << i;
  const auto back = see(1, true);
  ASSERT_TRUE(back);
  EXPECT_STREQ(name(back->verb), "return");
  EXPECT_EQ(engine.left(problem()), nullptr);
}

TEST(MonitorEngine, ASampleWithoutTheMetricSaysNothing) {
  Engine engine(*parse_policy(default_policy_text(), "p"), *known_target("h200"),
                [](const Problem&, const std::vector<Config>&) { return std::optional<Config>(); });
  engine.serve(problem(), config("sm90_ws:w2.m128.n128.k128.s2"));
  Sample bad;
  bad.problem = problem();
  bad.values.resize(metrics().size());
  bad.values[1] = 50;
  Sample empty = bad;
  empty.values[1].reset();
  EXPECT_FALSE(engine.judge(bad));
  EXPECT_FALSE(engine.judge(empty));
  EXPECT_FALSE(engine.judge(bad));
  EXPECT_FALSE(engine.judge(empty));
  EXPECT_TRUE(engine.judge(bad));  // the third in a row
}

TEST(MonitorEngine, AProblemWithoutAPlanIsNobodysBusiness) {
  Engine engine(*parse_policy(default_policy_text(), "p"), *known_target("h200"), nullptr);
  Sample sample;
  sample.problem = problem();
  sample.values.resize(metrics().size());
  sample.values[1] = 99;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(engine.judge(sample));
  EXPECT_FALSE(engine.serving(problem()));
}

TEST(SmallerTileK, IsSmallerBy16OrMoreAndLegal) {
  const Target h200 = *known_target("h200");
  const auto smaller = smaller_tile_k(config("sm90_ws:w2.m128.n128.k128.s2"), problem(), h200);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(to_text(*smaller), "sm90_ws:w2.m128.n128.s2");  // tile K 64, the default
  EXPECT_FALSE(smaller_tile_k(*smaller, problem(), h200));
  const Target a100 = *known_target("a100");
  Config ampere = default_config(sm80_mma_family());
  for (int steps = 0;; ++steps) {
    const auto next = smaller_tile_k(ampere, problem(), a100);
    if (!next) break;
    EXPECT_LE(next->at("tile_k"), ampere.at("tile_k") - 16);
    EXPECT_EQ(broken_rule({problem(), a100}, *next), nullptr);
    ampere = *next;
    ASSERT_LT(steps, 10);
  }
}

TEST(CheckMetrics, NamesTheRuleThatLacksItsMetric) {
  const Policy policy = *parse_policy(default_policy_text(), "p.toml");
  std::vector<bool> present(metrics().size(), false);
  present[0] = true;
  EXPECT_EQ(check_metrics(policy, present, "run.csv").error().what,
            "p.toml:3:10: the rule 'l2_thrash' needs l2_miss_pct, which run.csv does not have: it "
            "has latency_ratio");
  present[1] = true;
  EXPECT_TRUE(check_metrics(policy, present, "run.csv"));
}

}  // namespace
}  // namespace gemmsmith::monitor
