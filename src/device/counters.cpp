#include "device/counters.h"

#include <algorithm>
#include <cmath>

namespace gemmsmith {
namespace {

constexpr auto kStandard = CounterScope::kStandard;
constexpr auto kFull = CounterScope::kFull;

#define GEMMSMITH_STALL(reason) \
  "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"

constexpr std::array<CounterRow, kCounterCount> kTable = {{
    {Counter::kTimeNs, "gpu_time_ns", "gpu__time_duration.sum", "gpu__time_duration.sum",
     Merge::kSum, kStandard, "time of the kernels, each alone"},
    {Counter::kActiveCycles, "sm_active_cycles", "sm__cycles_active.sum", "sm__cycles_active.sum",
     Merge::kSum, kStandard, "cycles in which an SM had work, over all SMs"},
    {Counter::kElapsedCycles, "sm_elapsed_cycles", "sm__cycles_elapsed.sum",
     "sm__cycles_elapsed.sum", Merge::kSum, kStandard, "cycles of the kernels, over all SMs"},
    {Counter::kSpanCycles, "sm_span_cycles", "sm__cycles_active.max", "sm__cycles_active.max",
     Merge::kSum, kStandard, "cycles in which the SM that had work for longest had it"},
    {Counter::kCtas, "ctas", "sm__ctas_launched.sum", "sm__ctas_launched.sum", Merge::kSum,
     kStandard, "thread blocks launched"},
    {Counter::kTensorPercent, "tensor_pct",
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kStandard,
     "tensor pipe busy, % of the kernels' time"},
    {Counter::kIssuePercent, "issue_pct", "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
     "sm__inst_issued.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kStandard,
     "issue slots used, %"},
    {Counter::kSharedPipePercent, "shared_pipe_pct",
     "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
     "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kStandard,
     "shared-memory data pipe busy, %"},
    {Counter::kSmPercent, "sm_throughput_pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
     "sm__throughput.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kFull,
     "the busiest unit of the SMs, % of its peak"},
    {Counter::kSharedConflicts, "shared_conflicts",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", Merge::kSum, kStandard,
     "wavefronts that only bank conflicts made necessary"},
    {Counter::kSharedWavefronts, "shared_wavefronts",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", Merge::kSum, kStandard,
     "wavefronts of shared memory"},
    {Counter::kL2Percent, "l2_pct", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
     "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kStandard,
     "L2 sectors, % of peak"},
    {Counter::kL2ReadSectors, "l2_read_sectors", "lts__t_sectors_op_read.sum",
     "lts__t_sectors_op_read.sum", Merge::kSum, kStandard, "32-byte sectors read in L2"},
    {Counter::kL2ReadHits, "l2_read_hits", "lts__t_sectors_op_read_lookup_hit.sum",
     "lts__t_sectors_op_read_lookup_hit.sum", Merge::kSum, kStandard, "of these, found"},
    {Counter::kL2WriteSectors, "l2_write_sectors", "lts__t_sectors_op_write.sum",
     "lts__t_sectors_op_write.sum", Merge::kSum, kStandard, "sectors written in L2"},
    {Counter::kL2WriteHits, "l2_write_hits", "lts__t_sectors_op_write_lookup_hit.sum",
     "lts__t_sectors_op_write_lookup_hit.sum", Merge::kSum, kStandard, "of these, hits"},
    {Counter::kL2SmReadSectors, "l2_sm_read_sectors", "lts__t_sectors_srcunit_tex_op_read.sum",
     "lts__t_sectors_srcunit_tex_op_read.sum", Merge::kSum, kStandard, "sectors that SMs read"},
    {Counter::kL2SmReadHits, "l2_sm_read_hits", "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
     "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", Merge::kSum, kStandard,
     "of these, found at once"},
    {Counter::kL2FabricSectors, "l2_fabric_sectors", "lts__t_sectors_srcunit_ltcfabric.sum",
     "lts__t_sectors_srcunit_ltcfabric.sum", Merge::kSum, kStandard,
     "sectors that one L2 partition asked the other for"},
    {Counter::kL2FabricHits, "l2_fabric_hits", "lts__t_sectors_srcunit_ltcfabric_lookup_hit.sum",
     "lts__t_sectors_srcunit_ltcfabric_lookup_hit.sum", Merge::kSum, kStandard,
     "of these, found there"},
    {Counter::kDramPercent, "dram_pct", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
     "dram__throughput.avg.pct_of_peak_sustained_elapsed", Merge::kByTime, kStandard,
     "device memory, % of peak"},
    {Counter::kDramReadBytes, "dram_read_bytes", "dram__bytes_read.sum", "dram__bytes_read.sum",
     Merge::kSum, kStandard, "bytes read from device memory"},
    {Counter::kDramWriteBytes, "dram_write_bytes", "dram__bytes_write.sum", "dram__bytes_write.sum",
     Merge::kSum, kStandard, "bytes written to device memory"},
    {Counter::kOccupancyPercent, "occupancy_pct",
     "sm__warps_active.avg.pct_of_peak_sustained_active",
     "sm__warps_active.avg.pct_of_peak_sustained_active", Merge::kByActiveCycles, kStandard,
     "warps resident, % of the most an SM holds, while SMs had work"},
    {Counter::kIpc, "ipc", "sm__inst_executed.avg.per_cycle_active",
     "sm__inst_executed.avg.per_cycle_active", Merge::kByActiveCycles, kStandard,
     "instructions a cycle and SM, of 4, while SMs had work"},
    {Counter::kWgmmaInstructions, "wgmma_instructions", "sm__inst_executed_pipe_tensor_op_gmma.sum",
     nullptr, Merge::kSum, kStandard, "wgmma instructions"},
    {Counter::kLocalLoads, "local_loads", "smsp__inst_executed_op_local_ld.sum",
     "smsp__inst_executed_op_local_ld.sum", Merge::kSum, kFull, "loads of spilled registers"},
    {Counter::kStallLongScoreboard, "stall_long_scoreboard", GEMMSMITH_STALL("long_scoreboard"),
     GEMMSMITH_STALL("long_scoreboard"), Merge::kByActiveCycles, kFull,
     "warps waiting for memory, an issue"},
    {Counter::kStallShortScoreboard, "stall_short_scoreboard", GEMMSMITH_STALL("short_scoreboard"),
     GEMMSMITH_STALL("short_scoreboard"), Merge::kByActiveCycles, kFull,
     "for shared memory or special functions"},
    {Counter::kStallBarrier, "stall_barrier", GEMMSMITH_STALL("barrier"),
     GEMMSMITH_STALL("barrier"), Merge::kByActiveCycles, kFull, "at a barrier"},
    {Counter::kStallMathPipe, "stall_math_pipe", GEMMSMITH_STALL("math_pipe_throttle"),
     GEMMSMITH_STALL("math_pipe_throttle"), Merge::kByActiveCycles, kFull, "for a busy math pipe"},
    {Counter::kStallMio, "stall_mio", GEMMSMITH_STALL("mio_throttle"),
     GEMMSMITH_STALL("mio_throttle"), Merge::kByActiveCycles, kFull,
     "for the queue of shared-memory instructions"},
    {Counter::kStallWait, "stall_wait", GEMMSMITH_STALL("wait"), GEMMSMITH_STALL("wait"),
     Merge::kByActiveCycles, kFull, "for a fixed latency"},
    {Counter::kStallWgmma, "stall_wgmma", GEMMSMITH_STALL("gmma"), nullptr, Merge::kByActiveCycles,
     kFull, "for wgmma"},
}};
#undef GEMMSMITH_STALL

double weight_of(Merge merge, double time, double active) {
  switch (merge) {
    case Merge::kSum:
      return 1;
    case Merge::kByTime:
      return time;
    case Merge::kByActiveCycles:
      return active;
  }
  return 1;
}

std::optional<double> share(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return 100 * *part / *whole;
}

std::optional<double> sum(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

// What L2 and memory moved for the launch itself is in their sums.
bool counts_traffic(Counter counter) {
  switch (counter) {
    case Counter::kL2ReadSectors:
    case Counter::kL2ReadHits:
    case Counter::kL2WriteSectors:
    case Counter::kL2WriteHits:
    case Counter::kL2SmReadSectors:
    case Counter::kL2SmReadHits:
    case Counter::kL2FabricSectors:
    case Counter::kL2FabricHits:
    case Counter::kDramReadBytes:
    case Counter::kDramWriteBytes:
      return true;
    default:
      return false;
  }
}

std::optional<std::size_t> index_of(std::span<const CounterRow* const> rows, Counter counter) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->counter == counter) return i;
  return std::nullopt;
}

}  // namespace

std::span<const CounterRow, kCounterCount> counter_table() { return kTable; }

Result<std::vector<const CounterRow*>> counter_rows(std::string_view chip, CounterScope scope) {
  if (chip != "GH100" && chip != "GA100")
    return fail(ErrorCode::kUnsupported,
                "the chip {}: counters are known by name for GA100 (A100) and GH100 (H100, H200)",
                chip);
  std::vector<const CounterRow*> rows;
  for (const CounterRow& row : kTable)
    if (metric_name(row, chip) != nullptr && (scope == kFull || row.scope == kStandard))
      rows.push_back(&row);
  return rows;
}

const char* metric_name(const CounterRow& row, std::string_view chip) {
  return chip == "GA100" ? row.ampere : row.hopper;
}

std::vector<std::vector<double>> without_launch(std::span<const CounterRow* const> rows,
                                                std::vector<std::vector<double>> kernels,
                                                const std::vector<double>& empty, int sm_count) {
  const auto elapsed = index_of(rows, Counter::kElapsedCycles);
  const auto span = index_of(rows, Counter::kSpanCycles);
  const auto time = index_of(rows, Counter::kTimeNs);
  if (!elapsed || !span || !time || !(empty[*time] > 0)) return kernels;
  for (std::vector<double>& kernel : kernels) {
    if (!(kernel[*span] > 0) || !(kernel[*elapsed] > 0)) continue;
    const double left = kernel[*span] * sm_count;
    const double share_left = std::min(1.0, left / kernel[*elapsed]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (counts_traffic(rows[i]->counter))
        kernel[i] = std::max(0.0, kernel[i] - empty[i]);
      else if (rows[i]->merge == Merge::kByTime)
        kernel[i] /= share_left;
    }
    kernel[*elapsed] *= share_left;
    kernel[*time] *= share_left;
  }
  return kernels;
}

CounterValues merge_kernels(std::span<const CounterRow* const> rows,
                            std::span<const std::vector<double>> kernels) {
  const auto value_of = [&](const std::vector<double>& kernel, Counter counter) {
    const auto at = index_of(rows, counter);
    return at ? kernel[*at] : 1.0;  // not counted: every kernel weighs the same
  };
  CounterValues merged;
  std::vector<double> weights(rows.size(), 0);
  for (const std::vector<double>& kernel : kernels) {
    const double time = value_of(kernel, Counter::kTimeNs);
    if (!(time > 0)) continue;
    const double active = value_of(kernel, Counter::kActiveCycles);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!std::isfinite(kernel[i])) continue;
      const double weight = weight_of(rows[i]->merge, time, active);
      std::optional<double>& total = merged[rows[i]->counter];
      total = total.value_or(0) + weight * kernel[i];
      weights[i] += weight;
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<double>& total = merged[rows[i]->counter];
    if (!total || rows[i]->merge == Merge::kSum) continue;
    if (weights[i] > 0)
      *total /= weights[i];
    else
      total.reset();
  }
  return merged;
}

CounterValues mean_of(std::span<const CounterValues> counts) {
  CounterValues mean;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    double sum = 0;
    int having = 0;
    for (const CounterValues& count : counts)
      if (count.values[i]) {
        sum += *count.values[i];
        ++having;
      }
    if (having > 0) mean.values[i] = sum / having;
  }
  return mean;
}

std::optional<double> sm_percent(const CounterValues& v) {
  if (sm_percent_is_exact(v)) return v[Counter::kSmPercent];
  const auto& tensor = v[Counter::kTensorPercent];
  const auto& issue = v[Counter::kIssuePercent];
  const auto& shared = v[Counter::kSharedPipePercent];
  if (!tensor || !issue || !shared) return std::nullopt;
  return std::max({*tensor, *issue, *shared});
}

bool sm_percent_is_exact(const CounterValues& v) { return v[Counter::kSmPercent].has_value(); }

std::optional<double> bank_conflict_percent(const CounterValues& v) {
  // A kernel that uses no shared memory has no conflicts in it.
  if (v[Counter::kSharedWavefronts] == 0.0 && v[Counter::kSharedConflicts] == 0.0) return 0;
  return share(v[Counter::kSharedConflicts], v[Counter::kSharedWavefronts]);
}

std::optional<double> l2_hit_percent(const CounterValues& v) {
  return share(sum(v[Counter::kL2ReadHits], v[Counter::kL2WriteHits]),
               sum(v[Counter::kL2ReadSectors], v[Counter::kL2WriteSectors]));
}

std::optional<double> l2_read_hit_percent(const CounterValues& v) {
  return share(v[Counter::kL2ReadHits], v[Counter::kL2ReadSectors]);
}

std::optional<double> l2_sm_read_hit_percent(const CounterValues& v) {
  return share(v[Counter::kL2SmReadHits], v[Counter::kL2SmReadSectors]);
}

std::optional<double> l2_served_percent(const CounterValues& v) {
  constexpr double kSectorBytes = 32;
  const auto& sectors = v[Counter::kL2SmReadSectors];
  const auto& memory = v[Counter::kDramReadBytes];
  if (!sectors || !memory || *sectors <= 0) return std::nullopt;
  return std::max(0.0, 100 * (1 - *memory / (kSectorBytes * *sectors)));
}

std::optional<double> dram_bytes(const CounterValues& v) {
  return sum(v[Counter::kDramReadBytes], v[Counter::kDramWriteBytes]);
}

std::optional<double> active_percent(const CounterValues& v) {
  return share(v[Counter::kActiveCycles], v[Counter::kElapsedCycles]);
}

}  // namespace gemmsmith
