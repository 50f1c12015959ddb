#include "store/store_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

namespace gemmsmith {

Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return *make_problem(problem);
}

Run run_of(const std::string& id) {
  return {id, kH200, "2026-01-31T12:00:00Z", "gemmsmith tune", 7, R"({"clock_mhz":1980})"};
}

StoredMeasurement row_of(const Problem& problem, const std::string& config,
                         const std::string& run) {
  Measurement m;
  m.problem = problem;
  m.kind = Kind::kKernel;
  m.config = config;
  m.run = run;
  m.median_us = 3.14159;
  m.low_us = 3.1;
  m.high_us = 3.2;
  m.ratio = 1.0625;
  m.ratio_low = 1.05;
  m.ratio_high = 1.07;
  m.repeats_us = {3.1, 3.14159, 3.2};
  m.compile_s = 0.7;
  return {kH200, "hash-of-" + config, m};
}

StoredCounters counters_of(const Problem& problem, const std::string& config,
                           const std::string& run) {
  StoredCounters row;
  row.environment = kH200;
  row.problem = problem;
  row.config = config;
  row.kernel_hash = "hash-of-" + config;
  row.run = run;
  row.chip = "GH100";
  row.passes = 2;
  row.kernels = 1;
  row.values[Counter::kIpc] = 1.125;
  row.values[Counter::kL2ReadSectors] = 4'000'000'001;
  row.values[Counter::kDramPercent] = 0;
  return row;
}

Winner winner_of(const Problem& problem, const std::string& config, const std::string& run) {
  Winner winner;
  winner.problem = problem;
  winner.source = WinnerSource::kKernel;
  winner.config = config;
  winner.kernel_hash = "hash-of-" + config;
  winner.chained_us = 3.1;
  winner.chained_ratio = 1.06;
  winner.chained_low = 1.05;
  winner.foreign_us = 3.4;
  winner.foreign_ratio = 1.03;
  winner.foreign_low = 1.02;
  winner.run = run;
  return winner;
}

int in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void StoreTest::SetUp() {
  directory_ = std::filesystem::temp_directory_path() /
               ("gemmsmith_store_" + std::to_string(::getpid()) + "_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::create_directories(directory_);
}

void StoreTest::TearDown() {
  std::error_code ignored;
  std::filesystem::permissions(directory_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(directory_, ignored);
}

Store StoreTest::must_open(const std::filesystem::path& path, Store::Mode mode) const {
  auto store = Store::open(path, mode);
  EXPECT_TRUE(store) << (store ? "" : store.error().what);
  return std::move(*store);
}

void StoreTest::fill(const std::filesystem::path& path, int rows) const {
  Store store = must_open(path);
  ASSERT_TRUE(store.start_run(run_of("r1")));
  for (int i = 0; i < rows; ++i) {
    const StoredMeasurement row = row_of(problem_of(64), "sm90_ws:n" + std::to_string(i), "r1");
    ASSERT_TRUE(store.record(kH200, {&row, 1}));
  }
  ASSERT_TRUE(store.set_winner(kH200, winner_of(problem_of(64), kWinnerConfig, "r1"),
                               {"selected", 40, 24}));
}

std::string StoreTest::open_error(const std::filesystem::path& path, Store::Mode mode) const {
  const auto store = Store::open(path, mode);
  if (store) {
    ADD_FAILURE() << path << " opened";
    return {};
  }
  EXPECT_EQ(store.error().code, ErrorCode::kStore);
  return store.error().what;
}

}  // namespace gemmsmith
