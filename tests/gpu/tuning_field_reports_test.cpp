// Field reports on timing and tuning that need a GPU: what a tiny product costs, what neighbours
// cost, and what becomes of tuning beside a program that has taken the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "gpu/gpu.h"
#include "measure/bench.h"
#include "policy/analytic_ranker.h"

namespace gemmsmith {
namespace {

class TuningFieldReports : public ::testing::Test {
 protected:
  void SetUp() override {
    GEMMSMITH_NEEDS_GPU();
    auto bench = open_bench("cuda:0", {});
    ASSERT_TRUE(bench) << bench.error().what;
    bench_ = std::move(*bench);
  }

  // The fastest of lt_tuned and of our best-ranked kernels: what a plan would serve.
  double best_us(const Problem& problem) {
    double best = std::numeric_limits<double>::infinity();
    const auto baselines = bench_->baselines(problem);
    EXPECT_TRUE(baselines) << describe(problem) << ": " << baselines.error().what;
    if (!baselines) return best;
    for (const Measurement& row : *baselines)
      if (row.kind == Kind::kLtTuned) best = row.median_us;
    const std::vector<Config> configs =
        policy::ranked_configs(problem, bench_->device().target, 8, 1);
    const auto rows = bench_->screen(problem, configs, Setting::kChained);
    EXPECT_TRUE(rows) << describe(problem) << ": " << rows.error().what;
    if (!rows) return best;
    for (const Measurement& row : *rows)
      if (row.status == Status::kOk) best = std::min(best, row.median_us);
    return best;
  }

  std::unique_ptr<Bench> bench_;
};

// O3: what empties caches is no part of a time. Reading twice L2 alone would take 25 us and more.
TEST_F(TuningFieldReports, O3_ATinyProductIsTimedAlone) {
  const auto rows = bench_->baselines(gpu::shape(64, 64, 64));
  ASSERT_TRUE(rows) << rows.error().what;
  for (const Measurement& row : *rows) {
    EXPECT_EQ(row.status, Status::kOk) << name(row.kind) << ": " << row.detail;
    EXPECT_LT(row.median_us, 10) << name(row.kind) << " " << name(row.cache);
  }
}

// L12: one row more costs no cliff.
TEST_F(TuningFieldReports, L12_NeighboursOfFewRowsCostAlike) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const int m : {7, 8, 9, 10}) {
    const double us = best_us(gpu::shape(m, 4096, 5120));
    fmt::print("{} rows: {:.2f} us\n", m, us);
    least = std::min(least, us);
    most = std::max(most, us);
  }
  EXPECT_LE(most, 1.3 * least);
}

// L12: an odd k, which no TMA and no 16-byte load can read, costs a packing and no threefold.
TEST_F(TuningFieldReports, L12_AnOddKCostsLittleMoreThanItsNeighbour) {
  const double even = best_us(gpu::shape(4096, 4096, 2048));
  const double odd = best_us(gpu::shape(4096, 4096, 2047));
  fmt::print("k = 2048: {:.2f} us, k = 2047: {:.2f} us\n", even, odd);
  EXPECT_LE(odd, 1.5 * even);
}

// L8: beside a program that has taken the memory a problem is refused with the reason, the bench
// lives on, and nothing is kept once the memory is back.
TEST_F(TuningFieldReports, L8_ATakenMemoryCostsTheProblemAlone) {
  const Problem large = gpu::shape(16384, 16384, 16384);
  const Problem small = gpu::shape(64, 64, 64);
  ASSERT_TRUE(bench_->baselines(small));  // the worker has its context
  auto context = CudaContext::open(0);
  ASSERT_TRUE(context) << context.error().what;
  std::vector<DeviceBuffer> taken;
  for (std::size_t bytes = std::size_t{1} << 36; bytes >= std::size_t{1} << 26;) {
    auto buffer = DeviceBuffer::allocate(context->driver(), bytes);
    if (buffer)
      taken.push_back(std::move(*buffer));
    else
      bytes /= 2;
  }
  ASSERT_FALSE(taken.empty());
  const auto refused = bench_->baselines(large);
  EXPECT_FALSE(refused) << "more than a gigabyte was found where 64 MiB at most were left";
  if (!refused) fmt::print("refused: {}\n", refused.error().what);
  taken.clear();
  const auto rows = bench_->baselines(large);
  ASSERT_TRUE(rows) << rows.error().what;
  EXPECT_EQ(rows->back().status, Status::kOk) << rows->back().detail;
}

}  // namespace
}  // namespace gemmsmith
