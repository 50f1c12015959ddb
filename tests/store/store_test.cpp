#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

void expect_same(const StoredMeasurement& a, const StoredMeasurement& b) {
  EXPECT_EQ(a.environment, b.environment);
  EXPECT_EQ(a.kernel_hash, b.kernel_hash);
  const Measurement& x = a.measurement;
  const Measurement& y = b.measurement;
  EXPECT_EQ(x.problem, y.problem);
  EXPECT_EQ(x.kind, y.kind);
  EXPECT_EQ(x.config, y.config);
  EXPECT_EQ(x.status, y.status);
  EXPECT_EQ(x.setting, y.setting);
  EXPECT_EQ(x.cache, y.cache);
  EXPECT_EQ(x.stage, y.stage);
  EXPECT_EQ(x.run, y.run);
  EXPECT_EQ(x.median_us, y.median_us);
  EXPECT_EQ(x.ratio_low, y.ratio_low);
  EXPECT_EQ(x.repeats_us, y.repeats_us);
  EXPECT_EQ(x.compile_s, y.compile_s);
  EXPECT_EQ(x.detail, y.detail);
}

TEST_F(StoreTest, KeepsEveryFieldOfAMeasurement) {
  StoredMeasurement row = row_of(problem_of(640, 64, 8192), "sm90_ws:n32.k128", "r1");
  row.measurement.status = Status::kNondeterministic;
  row.measurement.setting = Setting::kForeign;
  row.measurement.cache = CacheState::kHot;
  row.measurement.stage = Stage::kFinal;
  row.measurement.detail = "differs at 3,7; \"quoted\", and\nlines";
  {
    Store store = must_open(file());
    ASSERT_TRUE(store.start_run(run_of("r1")));
    ASSERT_TRUE(store.record(kH200, {&row, 1}));
  }
  Store store = must_open(file(), Store::Mode::kReadOnly);
  const auto rows = *store.measurements(kH200, row.measurement.problem);
  ASSERT_EQ(rows.size(), 1U);
  expect_same(rows[0], row);
  EXPECT_EQ(store.damaged_rows(), 0);
}

TEST_F(StoreTest, ValuesThatAreNoNumbersDoNotDamageARow) {
  StoredMeasurement row = row_of(problem_of(64), "sm90_ws", "r1");
  row.measurement.ratio = std::numeric_limits<double>::quiet_NaN();
  row.measurement.repeats_us.push_back(std::numeric_limits<double>::infinity());
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  ASSERT_TRUE(store.record(kH200, {&row, 1}));
  const auto rows = *store.all_measurements();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].measurement.ratio, 0);
  EXPECT_EQ(rows[0].measurement.repeats_us.size(), 3U);
}

TEST_F(StoreTest, RecordingTwiceChangesNothing) {
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  StoredMeasurement row = row_of(problem_of(64), "sm90_ws", "r1");
  ASSERT_TRUE(store.record(kH200, {&row, 1}));
  row.measurement.median_us = 99;
  ASSERT_TRUE(store.record(kH200, {&row, 1}));
  const auto rows = *store.all_measurements();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].measurement.median_us, 3.14159);
}

TEST_F(StoreTest, KeepsEveryFieldOfCounters) {
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  StoredCounters row = counters_of(problem_of(64), "sm90_ws", "r1");
  double value = 0.1;
  for (const CounterRow& counter : counter_table()) row.values[counter.counter] = value += 1.7;
  row.values[Counter::kStallWgmma].reset();
  StoredCounters other = counters_of(problem_of(128), "cublaslt:a66", "r1");
  other.kind = Kind::kVendor;
  ASSERT_TRUE(store.record_counters(std::vector{row, other}));
  const auto rows = must(store.counters(kH200, problem_of(64)));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].environment, kH200);
  EXPECT_EQ(rows[0].problem, row.problem);
  EXPECT_EQ(rows[0].kind, Kind::kKernel);
  EXPECT_EQ(rows[0].config, "sm90_ws");
  EXPECT_EQ(rows[0].kernel_hash, "hash-of-sm90_ws");
  EXPECT_EQ(rows[0].run, "r1");
  EXPECT_EQ(rows[0].chip, "GH100");
  EXPECT_EQ(rows[0].passes, 2);
  EXPECT_EQ(rows[0].kernels, 1);
  EXPECT_EQ(rows[0].values, row.values);
  EXPECT_EQ(must(store.all_counters()).size(), 2U);
  EXPECT_EQ(must(store.all_counters())[1].kind, Kind::kVendor);
}

TEST_F(StoreTest, CountersOfOneRunAreRecordedOnce) {
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  ASSERT_TRUE(store.start_run(run_of("r2")));
  StoredCounters row = counters_of(problem_of(64), "sm90_ws", "r1");
  ASSERT_TRUE(store.record_counters({&row, 1}));
  row.values[Counter::kIpc] = 3;
  ASSERT_TRUE(store.record_counters({&row, 1}));
  EXPECT_EQ(must(store.all_counters()).at(0).values[Counter::kIpc], 1.125);
  row.run = "r2";
  ASSERT_TRUE(store.record_counters({&row, 1}));
  EXPECT_EQ(must(store.all_counters()).size(), 2U);
}

// field-reports L3: one field of the key changed at a time gives an entry of its own.
TEST_F(StoreTest, EveryFieldOfTheKeySeparatesResults) {
  const StoredMeasurement base = row_of(problem_of(64), "sm90_ws", "r1");
  std::vector<StoredMeasurement> rows = {base};
  const auto vary = [&](auto change) {
    StoredMeasurement row = base;
    change(row);
    rows.push_back(row);
  };
  const auto vary_problem = [&](auto change) {
    vary([&](StoredMeasurement& row) { change(row.measurement.problem); });
  };
  vary_problem([](Problem& p) { p.m = 65; });
  vary_problem([](Problem& p) { p.n = 63; });
  vary_problem([](Problem& p) { p.k = 63; });
  vary_problem([](Problem& p) { p.type = DataType::kBf16; });
  vary_problem([](Problem& p) { p.accumulator = DataType::kF16; });
  vary_problem([](Problem& p) { p.layout = Layout::kNN; });
  vary_problem([](Problem& p) { p.lda = 72; });
  vary_problem([](Problem& p) { p.ldb = 72; });
  vary_problem([](Problem& p) { p.ldc = 72; });
  vary_problem([](Problem& p) { p.ldd = 72; });
  vary_problem([](Problem& p) { p.alpha = 0.5F; });
  vary_problem([](Problem& p) { p.beta = 1; });
  vary_problem([](Problem& p) { p.alignment.b = 2; });
  vary([](StoredMeasurement& row) { row.environment.fingerprint += "x"; });
  vary([](StoredMeasurement& row) { row.environment.protocol = 2; });
  vary([](StoredMeasurement& row) { row.kernel_hash = "other"; });
  vary([](StoredMeasurement& row) { row.measurement.config = "sm90_ws:n8"; });
  vary([](StoredMeasurement& row) { row.measurement.kind = Kind::kVendor; });
  vary([](StoredMeasurement& row) { row.measurement.setting = Setting::kForeign; });
  vary([](StoredMeasurement& row) { row.measurement.cache = CacheState::kHot; });
  vary([](StoredMeasurement& row) { row.measurement.stage = Stage::kFinal; });
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  ASSERT_TRUE(store.record(kH200, rows));
  EXPECT_EQ(store.all_measurements()->size(), rows.size());
  // What belongs to the base problem and device is found; nothing else is served for it.
  for (const StoredMeasurement& row : must(store.measurements(kH200, base.measurement.problem))) {
    EXPECT_EQ(row.measurement.problem, base.measurement.problem);
    EXPECT_EQ(row.environment, kH200);
  }
}

// field-reports M4: results of another device are neither used nor lost.
TEST_F(StoreTest, AnotherDevicesWinnerIsNotServedAndNotTouched) {
  const Environment other{"NVIDIA H100", 1};
  Store store = must_open(file());
  const Problem problem = problem_of(64);
  ASSERT_TRUE(store.set_winner(other, winner_of(problem, "theirs", "r"), {"selected", 1, 1}));
  EXPECT_FALSE(*store.winner(kH200, problem));
  ASSERT_TRUE(store.set_winner(kH200, winner_of(problem, "ours", "r"), {"selected", 1, 1}));
  EXPECT_EQ((*store.winner(other, problem))->config, "theirs");
  EXPECT_EQ(store.environments()->size(), 2U);
}

TEST_F(StoreTest, ProgressChangesWithItsRows) {
  Store store = must_open(file());
  const StoredMeasurement row = row_of(problem_of(64), "sm90_ws", "never-started");
  const Progress progress{"screen", 0, 0};
  // The row names a run that is not there: nothing of the call may remain.
  EXPECT_FALSE(store.record(kH200, {&row, 1}, &progress));
  EXPECT_FALSE(*store.progress(kH200, problem_of(64)));
  ASSERT_TRUE(store.start_run(run_of("never-started")));
  ASSERT_TRUE(store.record(kH200, {&row, 1}, &progress));
  EXPECT_EQ((*store.progress(kH200, problem_of(64)))->stage, "screen");
}

TEST_F(StoreTest, RunsKeepTheirConditions) {
  Store store = must_open(file());
  ASSERT_TRUE(store.start_run(run_of("r1")));
  ASSERT_TRUE(store.update_conditions("r1", R"({"power_w":650})"));
  const auto runs = *store.runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].conditions, R"({"power_w":650})");
  EXPECT_EQ(runs[0].seed, 7U);
  EXPECT_EQ(runs[0].environment, kH200);
}

RC_GTEST_PROP(ProblemKey, ReadsBackAsTheSameProblem, ()) {
  Problem problem;
  problem.m = *rc::gen::inRange<std::int64_t>(0, 1LL << 31);
  problem.n = *rc::gen::inRange<std::int64_t>(0, 1LL << 31);
  problem.k = *rc::gen::inRange<std::int64_t>(0, 1LL << 31);
  problem.type = *rc::gen::element(DataType::kF16, DataType::kBf16);
  problem.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
  problem.alpha = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 7;
  problem.beta = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 3;
  problem.alignment.a = *rc::gen::element(1, 2, 16, 256);
  problem = *make_problem(problem);
  problem.ldd += *rc::gen::inRange(0, 9);
  if (*rc::gen::arbitrary<bool>()) {
    problem.m %= 1 << 12;  // else the batch might have more than 2^63 bytes
    problem.batch = *rc::gen::inRange(2, 99);
    problem.stride_b = *rc::gen::inRange<std::int64_t>(0, 1 << 30);
    problem.lda = problem.ldb = problem.ldc = problem.ldd = 0;
    const auto made = make_problem(problem);
    RC_PRE(made.has_value());
    problem = *made;
  }
  const auto read = parse_problem_key(problem_key(problem));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == problem);
}

// Stores from before there were batches keep their keys.
TEST(ProblemKey, NamesStridesOnlyOfABatch) {
  Problem problem;
  problem.m = 64;
  problem.n = 32;
  problem.k = 16;
  EXPECT_EQ(problem_key(*make_problem(problem)),
            "64,32,16,1,f16,f32,tn,16,16,32,32,1,0,256,256,256,256");
  problem.batch = 3;
  problem.stride_a = 0;
  EXPECT_EQ(problem_key(*make_problem(problem)),
            "64,32,16,3,f16,f32,tn,16,16,32,32,1,0,256,256,256,256,0,512,2048,2048");
  EXPECT_EQ(parse_problem_key("64,32,16,3,f16,f32,tn,16,16,32,32,1,0,256,256,256,256").error().what,
            "problem key '64,32,16,3,f16,f32,tn,16,16,32,32,1,0,256,256,256,256': expected 21 "
            "fields");
}

RC_GTEST_PROP(ProblemKey, ReadsAnyTextWithoutHarm, (const std::string& text)) {
  const auto read = parse_problem_key(text);
  if (read) RC_ASSERT(problem_key(*read) == text);
}

}  // namespace
}  // namespace gemmsmith
