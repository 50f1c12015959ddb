// The table of counters, how kernels of one launch add up, and what follows from the figures.
#include "device/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace gemmsmith {
namespace {

TEST(Counters, TheTableIsInOrderAndItsNamesAreUnique) {
  std::set<std::string> names;
  std::size_t i = 0;
  for (const CounterRow& row : counter_table()) {
    EXPECT_EQ(static_cast<std::size_t>(row.counter), i++) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.hopper, nullptr) << row.name;
    EXPECT_NE(std::string(row.meaning), "") << row.name;
  }
  EXPECT_EQ(i, kCounterCount);
}

TEST(Counters, AScopeAndAChipChooseTheirRows) {
  const auto has = [](std::string_view chip, CounterScope scope, Counter counter) {
    const auto rows = counter_rows(chip, scope);
    return rows && std::any_of(rows->begin(), rows->end(),
                               [&](const CounterRow* row) { return row->counter == counter; });
  };
  EXPECT_FALSE(has("GH100", CounterScope::kStandard, Counter::kSmPercent));
  EXPECT_TRUE(has("GH100", CounterScope::kFull, Counter::kSmPercent));
  EXPECT_TRUE(has("GH100", CounterScope::kStandard, Counter::kWgmmaInstructions));
  EXPECT_FALSE(has("GA100", CounterScope::kStandard, Counter::kWgmmaInstructions));
  EXPECT_EQ(counter_rows("GB100", CounterScope::kFull).error().what,
            "the chip GB100: counters are known by name for GA100 (A100) and GH100 (H100, H200)");
}

// A big kernel and a small one: bytes add up, shares are weighted.
TEST(Counters, KernelsOfALaunchAddUp) {
  std::vector<const CounterRow*> rows;
  for (const Counter counter : {Counter::kTimeNs, Counter::kActiveCycles, Counter::kDramReadBytes,
                                Counter::kTensorPercent, Counter::kIpc})
    rows.push_back(&counter_table()[static_cast<std::size_t>(counter)]);
  const std::vector<std::vector<double>> kernels = {{3000, 900, 10, 80, 2}, {1000, 100, 5, 0, 1}};
  const CounterValues merged = merge_kernels(rows, kernels);
  EXPECT_EQ(merged[Counter::kTimeNs], 4000);
  EXPECT_EQ(merged[Counter::kDramReadBytes], 15);
  EXPECT_EQ(merged[Counter::kTensorPercent], 60);           // by time: 3 to 1
  EXPECT_DOUBLE_EQ(*merged[Counter::kIpc], 1.9);            // by active cycles: 9 to 1
  EXPECT_FALSE(merged[Counter::kDramPercent].has_value());  // not counted
}

TEST(Counters, AKernelThatTookNoTimeAndFiguresThatAreNoneAreLeftOut) {
  std::vector<const CounterRow*> rows;
  for (const Counter counter : {Counter::kTimeNs, Counter::kDramReadBytes, Counter::kIpc})
    rows.push_back(&counter_table()[static_cast<std::size_t>(counter)]);
  const std::vector<std::vector<double>> kernels = {{0, 7, 1}, {1000, 5, std::nan("")}};
  const CounterValues merged = merge_kernels(rows, kernels);
  EXPECT_EQ(merged[Counter::kDramReadBytes], 5);
  EXPECT_FALSE(merged[Counter::kIpc].has_value());
}

// What is left of kernels once the launch's own part is taken off.
class WithoutLaunch : public testing::Test {
 protected:
  WithoutLaunch() {
    for (const Counter counter :
         {Counter::kTimeNs, Counter::kActiveCycles, Counter::kElapsedCycles, Counter::kSpanCycles,
          Counter::kTensorPercent, Counter::kIpc, Counter::kL2ReadSectors})
      rows_.push_back(&counter_table()[static_cast<std::size_t>(counter)]);
  }
  std::vector<double> left(std::vector<double> kernel) const {
    return without_launch(rows_, {std::move(kernel)}, empty_, 10).front();
  }
  std::vector<const CounterRow*> rows_;
  // Ten SMs for 500 cycles each, of which one had work for 20.
  const std::vector<double> empty_ = {500, 20, 5020, 20, 0, 0.1, 40};
};

TEST_F(WithoutLaunch, TimeAndSharesFollowTheLongestSm) {
  EXPECT_EQ(left({1000, 4000, 10000, 500, 20, 1.5, 300}),
            (std::vector<double>{500, 4000, 5000, 500, 40, 1.5, 260}));
}

// Each profiler opens its window as early as it likes.
TEST_F(WithoutLaunch, ItDoesNotMatterHowLongTheWindowIs) {
  EXPECT_EQ(left({1600, 4000, 16000, 500, 12.5, 1.5, 300}),
            left({800, 4000, 8000, 500, 25, 1.5, 300}));
}

TEST_F(WithoutLaunch, NoKernelTakesLongerThanItsWindow) {
  EXPECT_EQ(left({1000, 9900, 10000, 1010, 20, 1.5, 30}),
            (std::vector<double>{1000, 9900, 10000, 1010, 20, 1.5, 0}));
}

TEST_F(WithoutLaunch, WhatWasNotCountedStays) {
  const std::vector<double> kernel = {0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(left(kernel), kernel);
  const std::vector<double> counted = {1000, 4000, 10000, 500, 20, 1.5, 300};
  EXPECT_EQ(without_launch(rows_, {counted}, kernel, 10).front(), counted);
  const std::vector<const CounterRow*> few = {rows_[0], rows_[4]};
  EXPECT_EQ(without_launch(few, {{1000, 20}}, {500, 0}, 10).front(),
            (std::vector<double>{1000, 20}));
}

TEST(Counters, CountsOfOneLaunchAreAveraged) {
  CounterValues one, two;
  one[Counter::kL2ReadHits] = 10;
  two[Counter::kL2ReadHits] = 20;
  two[Counter::kIpc] = 3;
  const CounterValues mean = mean_of(std::vector<CounterValues>{one, two});
  EXPECT_EQ(mean[Counter::kL2ReadHits], 15);
  EXPECT_EQ(mean[Counter::kIpc], 3);
  EXPECT_FALSE(mean[Counter::kCtas].has_value());
}

TEST(Counters, DerivedFiguresNeedWhatTheyAreMadeOf) {
  CounterValues v;
  EXPECT_FALSE(sm_percent(v));
  EXPECT_FALSE(bank_conflict_percent(v));
  EXPECT_FALSE(l2_hit_percent(v));
  EXPECT_FALSE(l2_served_percent(v));
  EXPECT_FALSE(dram_bytes(v));
  EXPECT_FALSE(active_percent(v));

  v[Counter::kTensorPercent] = 70;
  v[Counter::kIssuePercent] = 20;
  v[Counter::kSharedPipePercent] = 75;
  EXPECT_EQ(sm_percent(v), 75);
  EXPECT_FALSE(sm_percent_is_exact(v));
  v[Counter::kSmPercent] = 72;
  EXPECT_EQ(sm_percent(v), 72);
  EXPECT_TRUE(sm_percent_is_exact(v));

  v[Counter::kSharedConflicts] = 5;
  v[Counter::kSharedWavefronts] = 50;
  EXPECT_EQ(bank_conflict_percent(v), 10);
  v[Counter::kL2ReadSectors] = 80;
  v[Counter::kL2ReadHits] = 60;
  v[Counter::kL2WriteSectors] = 20;
  v[Counter::kL2WriteHits] = 20;
  EXPECT_EQ(l2_hit_percent(v), 80);
  EXPECT_EQ(l2_read_hit_percent(v), 75);
  v[Counter::kL2SmReadSectors] = 100;
  v[Counter::kL2SmReadHits] = 55;
  v[Counter::kDramReadBytes] = 800;
  EXPECT_EQ(l2_sm_read_hit_percent(v), 55);
  EXPECT_EQ(l2_served_percent(v), 75);
  v[Counter::kDramWriteBytes] = 200;
  EXPECT_EQ(dram_bytes(v), 1000);
  v[Counter::kActiveCycles] = 9;
  v[Counter::kElapsedCycles] = 12;
  EXPECT_EQ(active_percent(v), 75);
}

TEST(Counters, NoSharedMemoryHasNoConflicts) {
  CounterValues v;
  v[Counter::kSharedConflicts] = 0;
  v[Counter::kSharedWavefronts] = 0;
  EXPECT_EQ(bank_conflict_percent(v), 0);
}

}  // namespace
}  // namespace gemmsmith
