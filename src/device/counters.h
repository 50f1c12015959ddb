// counters.h -- the hardware counters that are asked for, each by a name of ours, and one table of
// what CUPTI and ncu call them on each chip. Figures of several kernels of one launch are merged
// here, and what follows from them is computed here.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gemmsmith {

enum class Counter {
  kTimeNs,
  kActiveCycles,  // summed over SMs, as the next
  kElapsedCycles,
  kSpanCycles,  // of the SM that had work for longest
  kCtas,
  kTensorPercent,
  kIssuePercent,
  kSharedPipePercent,
  kSmPercent,
  kSharedConflicts,
  kSharedWavefronts,
  kL2Percent,
  kL2ReadSectors,
  kL2ReadHits,
  kL2WriteSectors,
  kL2WriteHits,
  kL2SmReadSectors,
  kL2SmReadHits,
  kL2FabricSectors,
  kL2FabricHits,
  kDramPercent,
  kDramReadBytes,
  kDramWriteBytes,
  kOccupancyPercent,
  kIpc,
  kWgmmaInstructions,
  kLocalLoads,
  kStallLongScoreboard,
  kStallShortScoreboard,
  kStallBarrier,
  kStallMathPipe,
  kStallMio,
  kStallWait,
  kStallWgmma,
};
constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::kStallWgmma) + 1;

// kStandard is quick (few passes) and enough for every target but the exact SM throughput, which
// kFull adds together with the reasons of stalls.
enum class CounterScope { kStandard, kFull };

// How one figure comes of several kernels': added up, or the mean weighted by their time or by the
// cycles in which their SMs had work.
enum class Merge { kSum, kByTime, kByActiveCycles };

struct CounterRow {
  Counter counter;
  const char* name;    // ours: "l2_read_hits"
  const char* hopper;  // CUPTI's, of GH100
  const char* ampere;  // of GA100; null where it has no such unit
  Merge merge;
  CounterScope scope;
  const char* meaning;
};

// In the order of Counter.
std::span<const CounterRow, kCounterCount> counter_table();

// The rows that `chip` ("GH100", "GA100") has in the scope, in order. kUnsupported for another
// chip.
Result<std::vector<const CounterRow*>> counter_rows(std::string_view chip, CounterScope scope);
// The metric's name on the chip; the row must have one.
const char* metric_name(const CounterRow& row, std::string_view chip);

struct CounterValues {
  std::array<std::optional<double>, kCounterCount> values;
  // Of a launch, by NVML while it ran on and on: no counter, but known of the same launches.
  std::optional<double> energy_uj;

  std::optional<double>& operator[](Counter counter) {
    return values[static_cast<std::size_t>(counter)];
  }
  const std::optional<double>& operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }
  bool operator==(const CounterValues&) const = default;
};

// What a launch costs, whatever it launches, taken out of the kernels' figures.
//
// A profiler's window opens when the host begins to launch: 5000 cycles before the first CTA on an
// H200, where a kernel of 4 us has 7000 of its own, and how many depends on the profiler. So the
// time of a kernel is that of the SM that had work for longest, and shares of a peak follow.
// `empty` is what the same profiler counted of an empty kernel: that traffic is the launch's own
// and is taken off each kernel's. Without cycles in `rows`, or where the empty kernel was not
// counted, nothing changes.
std::vector<std::vector<double>> without_launch(std::span<const CounterRow* const> rows,
                                                std::vector<std::vector<double>> kernels,
                                                const std::vector<double>& empty, int sm_count);

// `kernels`: for each, a value of every row. A kernel that took no time was not counted and is left
// out; nothing where none is left.
CounterValues merge_kernels(std::span<const CounterRow* const> rows,
                            std::span<const std::vector<double>> kernels);

// The mean of several counts of one launch, counter by counter, of those that have it.
CounterValues mean_of(std::span<const CounterValues> counts);

// What follows from counters, in percent where the name says so; nothing where one is missing or
// there was nothing to divide by.
//
// The busiest of tensor pipe, issue slots and shared-memory pipe: a stand-in for SM throughput
// where the real one, which takes many passes, was not counted.
std::optional<double> sm_percent(const CounterValues& v);
bool sm_percent_is_exact(const CounterValues& v);
std::optional<double> bank_conflict_percent(const CounterValues& v);  // of shared-memory wavefronts
std::optional<double> l2_hit_percent(const CounterValues& v);  // reads and writes, all sources
std::optional<double> l2_read_hit_percent(const CounterValues& v);
// Of the sectors that SMs read, those found by the first lookup.
std::optional<double> l2_sm_read_hit_percent(const CounterValues& v);
// Of the bytes that SMs read, those that did not come from device memory: what both partitions of
// L2 together served. A lookup that misses on one side and finds its data on the other is a miss
// for the figure above and none for this one.
std::optional<double> l2_served_percent(const CounterValues& v);
std::optional<double> dram_bytes(const CounterValues& v);
std::optional<double> active_percent(const CounterValues& v);  // of SM cycles, with work on the SM

}  // namespace gemmsmith
