// Counters of real launches: what a kernel is known to do is what is counted.
#include <gtest/gtest.h>

#include "gpu/gpu.h"
#include "measure/bench.h"
#include "measure/targets.h"
#include "policy/analytic_ranker.h"
#include "search/counting.h"
#include "search/judgement.h"
#include "support/scratch.h"

namespace gemmsmith {
namespace {

// Opens a bench and counts once; skips where this machine does not let anything be counted.
class CountersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GEMMSMITH_NEEDS_GPU();
    auto bench = open_bench("cuda:0", {});
    ASSERT_TRUE(bench) << bench.error().what;
    bench_ = std::move(*bench);
    problem_ = *make_problem([] {
      Problem p;
      p.m = p.n = 2048;
      p.k = 1024;
      return p;
    }());
    config_ = policy::ranked_configs(problem_, bench_->device().target, 1, 1).front();
  }

  // Nothing where the test was skipped or failed.
  std::optional<CounterReport> count(const Subject& subject, CounterScope scope) {
    const auto report = bench_->count(problem_, subject, scope);
    if (!report && report.error().code == ErrorCode::kEnvironment) {
      ::testing::Test::RecordProperty("unavailable", report.error().what);
      fmt::print("unavailable: {}\n", report.error().what);
      return std::nullopt;
    }
    EXPECT_TRUE(report) << report.error().what;
    if (!report) return std::nullopt;
    EXPECT_EQ(report->status, Status::kOk) << report->detail;
    return *report;
  }

  std::unique_ptr<Bench> bench_;
  Problem problem_;
  Config config_;
};

TEST_F(CountersTest, AKernelDoesWhatItIsKnownToDo) {
  const auto report = count({Kind::kKernel, config_}, CounterScope::kFull);
  if (!report) GTEST_SKIP() << "nothing could be counted";
  const CounterValues& v = report->values;
  const auto rows = counter_rows(report->chip, CounterScope::kFull);
  ASSERT_TRUE(rows) << rows.error().what;
  for (const CounterRow* row : *rows) EXPECT_TRUE(v[row->counter].has_value()) << row->name;
  EXPECT_EQ(report->kernels, 1);
  // Each operand is read once at least, and D is smaller than L2: what is written may stay there.
  const double operands = 2.0 * (2048 * 1024 + 2048 * 1024);
  EXPECT_GT(*v[Counter::kDramReadBytes], 0.95 * operands);
  EXPECT_LT(*v[Counter::kDramReadBytes], 3 * operands);
  EXPECT_GT(*v[Counter::kTimeNs], 1e3);
  EXPECT_LT(*v[Counter::kTimeNs], 1e6);
  EXPECT_EQ(*v[Counter::kLocalLoads], 0) << "spills";
  for (const CounterTarget& target : counter_targets()) {
    ASSERT_TRUE(target.figure(v)) << target.name;
    EXPECT_GE(*target.figure(v), 0) << target.name;
    EXPECT_LE(*target.figure(v), 101) << target.name;
  }
  if (report->chip == "GH100") {
    EXPECT_GT(*v[Counter::kWgmmaInstructions], 0);
  }
  fmt::print("{}: {} passes, {:.1f} us, tensor {:.1f} %, L2 hits {:.1f} %\n", to_text(config_),
             report->passes, *v[Counter::kTimeNs] * 1e-3, *v[Counter::kTensorPercent],
             *l2_hit_percent(v));
}

// Twice the same launch gives twice the same counts.
TEST_F(CountersTest, CountsRepeat) {
  // Whether a load finds what was asked of L2 just before is chance: 14 points were seen.
  config_.set("prefetch", 0);
  const auto one = count({Kind::kKernel, config_}, CounterScope::kStandard);
  if (!one) GTEST_SKIP() << "nothing could be counted";
  const auto two = count({Kind::kKernel, config_}, CounterScope::kStandard);
  ASSERT_TRUE(two);
  for (const Counter counter : {Counter::kCtas, Counter::kWgmmaInstructions})
    EXPECT_EQ(one->values[counter], two->values[counter]);
  // Which of two CTAs that share rows asks first differs: 8 points were seen between single
  // launches, whose mean is counted.
  EXPECT_NEAR(*l2_hit_percent(one->values), *l2_hit_percent(two->values), 6);
}

TEST_F(CountersTest, CublasIsCountedAlike) {
  for (const Kind kind : {Kind::kCublas, Kind::kLtFirst}) {
    const auto report = count({kind, std::nullopt}, CounterScope::kStandard);
    if (!report) GTEST_SKIP() << "nothing could be counted";
    EXPECT_GE(report->kernels, 1) << name(kind);
    EXPECT_GT(*report->values[Counter::kTensorPercent], 5) << name(kind);
  }
}

// tune --counters: the finalists are counted by a process that times nothing, beside times that
// another took, and judged.
TEST_F(CountersTest, TunedFinalistsAreCountedAfterwards) {
  const testing::ScratchFolder folder;
  auto store = Store::open(folder / "s.db", Store::Mode::kReadWrite);
  ASSERT_TRUE(store) << store.error().what;
  TunerOptions options;
  options.budget = 6;
  options.vendor_budget = 2;
  const std::vector<Problem> problems = {problem_};
  const auto tuned = tune(*bench_, *store, problems, options);
  ASSERT_TRUE(tuned) << tuned.error().what;
  ASSERT_EQ(tuned->count(Outcome::kTuned), 1);
  const Environment environment = environment_of(*bench_);
  bench_.reset();
  const auto factory = [](int) { return open_bench("cuda:0", {}); };
  const auto counted = count_finalists(factory, *store, environment, problems, options);
  ASSERT_TRUE(counted) << counted.error().what;
  if (!counted->unavailable.empty()) GTEST_SKIP() << counted->unavailable;
  for (const auto& [reason, launches] : counted->failed)
    ADD_FAILURE() << launches << ": " << reason;
  const auto counters = store->counters(environment, problem_);
  const auto rows = store->measurements(environment, problem_);
  const auto winner = store->winner(environment, problem_);
  ASSERT_TRUE(counters && rows && winner && *winner);
  EXPECT_EQ(static_cast<int>(counters->size()), counted->counted);
  EXPECT_GE(counters->size(), 3U) << "two finalists of ours and lt_tuned's algorithm";
  bool has_plan = false;
  for (const StoredCounters& row : *counters) {
    has_plan = has_plan || row.config == (*winner)->config;
    for (const CounterTarget& target : counter_targets())
      EXPECT_TRUE(target.figure(row.values)) << row.config << ": " << target.name;
    const auto policy = monitor::parse_policy(monitor::default_policy_text(), "built in");
    ASSERT_TRUE(policy) << policy.error().what;
    const Judgement judgement = judge(*policy, row.values);
    EXPECT_EQ(judgement.judged, 1) << "l2_miss_pct alone is counted";
    fmt::print("{}: L2 hits {:.1f} %, policy {}\n", row.config, *l2_hit_percent(row.values),
               judgement.text);
  }
  EXPECT_TRUE(has_plan);
  for (const StoredMeasurement& row : *rows) EXPECT_NE(row.measurement.run, counted->run);
}

TEST_F(CountersTest, PowerAndClocksAreRead) {
  const auto load = bench_->sustain(problem_, {Kind::kKernel, config_}, 0.3);
  ASSERT_TRUE(load) << load.error().what;
  EXPECT_EQ(load->status, Status::kOk) << load->detail;
  EXPECT_GT(load->us, 1);
  EXPECT_GT(load->launches, 100);
  if (!load->unavailable.empty()) GTEST_SKIP() << load->unavailable;
  ASSERT_TRUE(load->power_w);
  EXPECT_GT(*load->power_w, 50);
  EXPECT_LT(*load->power_w, 1.1 * load->power_limit_w.value_or(1e4));
  // Energy a launch is power for a launch's time: the GPU never idles between slices.
  EXPECT_NEAR(*load->energy_uj / (*load->power_w * load->us), 1, 0.1);
  fmt::print("{:.2f} us, {:.0f} W, {:.1f} uJ, {:.0f} MHz\n", load->us, *load->power_w,
             *load->energy_uj, load->sm_clock_mhz.value_or(0));
}

}  // namespace
}  // namespace gemmsmith
