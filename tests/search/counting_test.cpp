// Counting after tuning: what is counted, that it is kept, and that nothing else depends on it.
#include "search/counting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/interrupt.h"
#include "search/fake_bench.h"
#include "search/selection.h"
#include "search/tuning.h"
#include "support/problems.h"
#include "vendor/all_families.h"

namespace gemmsmith {
namespace {

using test::problem_of;

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().what);
  return std::move(*result);
}

class CountingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ("counting_" + std::to_string(::getpid()) + "_" +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    options_.budget = 12;
    options_.vendor_budget = 4;
    options_.space_limit = 40;
    store_.emplace(must(Store::open(directory_ / "store.db", Store::Mode::kReadWrite)));
    FakeBench bench;
    environment_ = environment_of(bench);
    EXPECT_EQ(must(tune(bench, *store_, problems_, options_)).count(Outcome::kTuned), 2);
    EXPECT_TRUE(bench.counted.empty()) << "counted where times are taken";
  }
  void TearDown() override {
    set_interrupted(false);
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Counts with a bench that `prepare` may have spoilt.
  CountSummary count(const std::function<void(FakeBench&)>& prepare = {}) {
    const BenchFactory factory = [&](int) -> Result<std::unique_ptr<Bench>> {
      ++benches_;
      auto bench = std::make_unique<FakeBench>();
      if (prepare) prepare(*bench);
      return bench;
    };
    return must(count_finalists(factory, *store_, environment_, problems_, options_));
  }

  std::vector<StoredCounters> kept(std::size_t problem) {
    return must(store_->counters(environment_, problems_[problem]));
  }

  // Everything that tuning keeps, as text.
  std::string tuned() {
    std::string text;
    for (const Problem& problem : problems_) {
      for (const StoredMeasurement& row : must(store_->measurements(environment_, problem)))
        text += fmt::format("{} {} {}\n", row.measurement.config, row.measurement.median_us,
                            row.measurement.run);
      const auto winner = must(store_->winner(environment_, problem));
      text += winner ? fmt::format("{} {}\n", winner->config, winner->run) : "none\n";
      const auto progress = must(store_->progress(environment_, problem));
      text += progress ? progress->stage + "\n" : "none\n";
    }
    return text;
  }

  std::filesystem::path directory_;
  std::vector<Problem> problems_ = {problem_of(256, 256, 512), problem_of(1024, 512, 256)};
  TunerOptions options_;
  std::optional<Store> store_;
  Environment environment_;
  int benches_ = 0;
};

TEST_F(CountingTest, CountsThePlanItsRivalsAndTheBaselineInARunOfTheirOwn) {
  const std::string before = tuned();
  const CountSummary summary = count();
  EXPECT_EQ(summary.unavailable, "");
  EXPECT_FALSE(summary.interrupted);
  EXPECT_TRUE(summary.failed.empty());
  EXPECT_EQ(run_purpose(summary.run), RunPurpose::kCount);
  std::size_t all = 0;
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    const auto rows = must(store_->measurements(environment_, problems_[i]));
    std::set<std::string> expected = {"cublaslt:a66.s35"};  // lt_tuned's
    for (const Finalist& finalist :
         finalists(measurements_of(rows, last_final_run(rows, RunPurpose::kTune))))
      expected.insert(finalist.config);
    EXPECT_GE(expected.size(), 3U);
    EXPECT_TRUE(expected.count(must(store_->winner(environment_, problems_[i]))->config));
    std::set<std::string> counted;
    for (const StoredCounters& row : kept(i)) {
      EXPECT_TRUE(counted.insert(row.config).second) << row.config;
      EXPECT_EQ(row.run, summary.run);
      EXPECT_EQ(row.chip, "GH100");
      EXPECT_EQ(row.values[Counter::kIpc], 1.5);
      EXPECT_EQ(row.kind, row.config.rfind("cublaslt", 0) == 0 ? Kind::kVendor : Kind::kKernel);
    }
    EXPECT_EQ(counted, expected);
    all += counted.size();
  }
  EXPECT_EQ(summary.counted, static_cast<int>(all));
  EXPECT_EQ(tuned(), before);
}

TEST_F(CountingTest, WhatWasCountedIsNotCountedAgain) {
  EXPECT_GT(count().counted, 0);
  EXPECT_EQ(benches_, 2) << "one for energy, one for counting";
  const CountSummary again = count();
  EXPECT_EQ(again.counted, 0);
  EXPECT_EQ(again.run, "");
  EXPECT_EQ(benches_, 2) << "a bench was opened for nothing";
}

// By another process than the one that counts, and only where NVML tells it.
TEST_F(CountingTest, EnergyStandsBesideTheCounters) {
  EXPECT_GT(count([](FakeBench& bench) { bench.energy_uj = 1234; }).counted, 0);
  for (const StoredCounters& row : kept(0)) EXPECT_EQ(row.values.energy_uj, 1234);
}

TEST_F(CountingTest, WithoutNvmlThereIsNoEnergyAndAllElseIsCounted) {
  EXPECT_GT(count().counted, 0);
  for (const StoredCounters& row : kept(0)) EXPECT_FALSE(row.values.energy_uj);
}

TEST_F(CountingTest, AChangedKernelIsCountedAgain) {
  EXPECT_GT(count().counted, 0);
  options_.kernel_hash = [](const Config& config, const Problem&) {
    return "changed " + to_text(config);
  };
  const CountSummary again = count();
  EXPECT_GT(again.counted, 0);
  for (const StoredCounters& row : kept(0))
    if (row.run == again.run) {
      EXPECT_EQ(row.kernel_hash, "changed " + row.config);
      EXPECT_EQ(row.kind, Kind::kKernel) << "the vendor's kernels have not changed";
    }
}

// Without permission the reason is given once, and all that was tuned stays.
TEST_F(CountingTest, WithoutPermissionTheReasonIsGivenAndNothingIsLost) {
  const std::string before = tuned();
  int asked = 0;
  const CountSummary summary = count([&](FakeBench& bench) {
    bench.before = [&](const Problem&, const char*) -> Result<void> {
      ++asked;
      return fail(ErrorCode::kEnvironment, "cannot read hardware counters: no permission");
    };
  });
  EXPECT_EQ(summary.unavailable, "cannot read hardware counters: no permission");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(summary.counted, 0);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_TRUE(kept(0).empty());
  EXPECT_EQ(tuned(), before);
  EXPECT_GT(count().counted, 0) << "with permission the next run counts";
}

TEST_F(CountingTest, ABenchThatCannotBeOpenedIsAReason) {
  const BenchFactory factory = [](int) -> Result<std::unique_ptr<Bench>> {
    return fail(ErrorCode::kEnvironment, "the driver is gone");
  };
  const CountSummary summary =
      must(count_finalists(factory, *store_, environment_, problems_, options_));
  EXPECT_EQ(summary.unavailable, "the driver is gone");
  EXPECT_EQ(summary.run, "");
}

TEST_F(CountingTest, ALaunchThatCannotBeCountedCostsOnlyItself) {
  const std::string config = must(store_->winner(environment_, problems_[0]))->config;
  const CountSummary summary =
      count([&](FakeBench& bench) { bench.uncountable[config] = "too many registers"; });
  EXPECT_EQ(summary.unavailable, "");
  ASSERT_EQ(summary.failed.count("too many registers"), 1U);
  EXPECT_GE(summary.failed.at("too many registers"), 1);
  EXPECT_GT(summary.counted, 0);
  for (const StoredCounters& row : kept(0)) EXPECT_NE(row.config, config);
  EXPECT_FALSE(kept(1).empty());
}

TEST_F(CountingTest, AHangingLaunchCostsOnlyItself) {
  int asked = 0;
  const CountSummary summary = count([&](FakeBench& bench) {
    bench.before = [&](const Problem&, const char*) -> Result<void> {
      if (asked++ == 0) return fail(ErrorCode::kTimeout, "no answer for 10 s");
      return {};
    };
  });
  EXPECT_EQ(summary.failed, (std::map<std::string, int>{{"no answer for 10 s", 1}}));
  EXPECT_GT(summary.counted, 0);
}

// Stopped between any two launches: what was counted is kept, and the next run counts the rest.
TEST_F(CountingTest, AnInterruptKeepsWhatWasCounted) {
  int asked = 0;
  const CountSummary summary = count([&](FakeBench& bench) {
    bench.before = [&](const Problem&, const char*) -> Result<void> {
      if (++asked == 2) set_interrupted(true);
      return {};
    };
  });
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.counted, 2);
  EXPECT_EQ(kept(0).size(), 2U);
  set_interrupted(false);
  std::set<std::string> before;
  for (const StoredCounters& row : kept(0)) before.insert(row.config);
  EXPECT_GT(count().counted, 0);
  std::set<std::string> after;
  for (const StoredCounters& row : kept(0))
    EXPECT_TRUE(after.insert(row.config).second) << "counted twice: " << row.config;
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  EXPECT_GE(after.size(), 3U);
}

TEST_F(CountingTest, WhatHasNoWinnerIsLeftAlone) {
  problems_.push_back(problem_of(64, 64, 64));
  EXPECT_GT(count().counted, 0);
  EXPECT_TRUE(kept(2).empty());
}

}  // namespace
}  // namespace gemmsmith
