// What profiling asks of a problem's bench: counters of a launch that starts with its operands in
// memory and not in L2, and the power and clocks of launches that run on and on.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/statistics.h"
#include "device/profiler_marks.h"
#include "measure/problem_bench.h"

namespace gemmsmith {
namespace {

// A buffer this many times as large as L2 is read before each counted launch. Reading leaves clean
// lines, whose replacement costs the launch no memory traffic, and once over is not enough: which
// line goes is not strictly the oldest.
constexpr std::int64_t kFlushTimesL2 = 4;
// Which CTA asks first for what several read is chance, and L2's hits with it: 8 points between two
// launches of 16 us were seen.
constexpr int kCountedLaunches = 4;
// The clocks are up and code is loaded after this much.
constexpr double kWarmUpUs = 2000;
constexpr int kMostWarmUps = 64;

// GPU time between two looks at NVML, which take milliseconds each, and of one graph.
constexpr double kSliceUs = 20000;
constexpr double kGraphUs = 1000;
// Before the first figure counts: the power reading follows the load by tens of milliseconds.
constexpr double kSettleS = 0.1;
// The energy counter moves in steps: waiting for one may take this much longer than asked.
constexpr double kPatienceS = 0.5;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Launches of a few milliseconds, timed together.
struct Slice {
  Event start;
  Event stop;
};

// Energy, time and launches between two steps of the energy counter.
struct EnergyMeter {
  struct Point {
    double seconds = 0;
    double joules = 0;
    std::int64_t launches = 0;
  };
  std::optional<double> last_joules;
  std::optional<Point> first;
  std::optional<Point> last;

  void see(double seconds, std::optional<double> joules, std::int64_t launches) {
    if (!joules) return;
    const bool stepped = last_joules && *joules != *last_joules;
    last_joules = joules;
    if (!stepped) return;
    const Point point{seconds, *joules, launches};
    if (!first)
      first = point;
    else
      last = point;
  }
  bool covers(double seconds) const {
    return first && last && last->seconds - first->seconds >= seconds;
  }
};

void summarise(const std::vector<GpuSample>& samples, const EnergyMeter& meter,
               LoadReport& report) {
  std::vector<double> power, clock, memory_clock;
  std::int64_t slowed = 0, told = 0;
  for (const GpuSample& sample : samples) {
    if (!sample.unavailable.empty()) report.unavailable = sample.unavailable;
    if (sample.power_w) power.push_back(*sample.power_w);
    if (sample.sm_clock_mhz) clock.push_back(*sample.sm_clock_mhz);
    if (sample.memory_clock_mhz) memory_clock.push_back(*sample.memory_clock_mhz);
    if (sample.power_limit_w) report.power_limit_w = sample.power_limit_w;
    if (sample.temperature_c)
      report.temperature_c = std::max(report.temperature_c.value_or(0), *sample.temperature_c);
    if (!sample.throttle_reasons) continue;
    ++told;
    slowed += (*sample.throttle_reasons & kThrottleSlowdown) != 0;
    report.throttled = report.throttled.value_or(0) | *sample.throttle_reasons;
  }
  if (!clock.empty()) report.sm_clock_mhz = median(clock);
  if (!memory_clock.empty()) report.memory_clock_mhz = median(memory_clock);
  if (told > 0) report.throttled_share = static_cast<double>(slowed) / static_cast<double>(told);
  if (meter.first && meter.last && meter.last->launches > meter.first->launches) {
    const double joules = meter.last->joules - meter.first->joules;
    report.power_w = joules / (meter.last->seconds - meter.first->seconds);
    report.energy_uj =
        joules * 1e6 / static_cast<double>(meter.last->launches - meter.first->launches);
  } else if (!power.empty()) {
    double total = 0;
    for (const double watts : power) total += watts;
    report.power_w = total / static_cast<double>(power.size());
    if (report.us > 0) report.energy_uj = *report.power_w * report.us;
  }
}

}  // namespace

Result<std::unique_ptr<ProblemBench>> ProblemBench::create_untimed(GpuSession& session,
                                                                   const Problem& problem) {
  if (problem.is_empty() || problem.k == 0)
    return fail(ErrorCode::kUnsupported, "{}: nothing to count", describe(problem));
  if (problem.has_epilogue())
    return fail(ErrorCode::kUnsupported, "{}: plain products are counted", describe(problem));
  std::unique_ptr<ProblemBench> bench(new ProblemBench(session, problem));
  GEMMSMITH_CHECK(bench->fill_operands());
  GEMMSMITH_TRY(vendor::LtMatmul matmul,
                vendor::LtMatmul::create(session.lt, problem, session.settings.workspace_bytes));
  bench->lt_ = std::make_unique<vendor::LtMatmul>(std::move(matmul));
  return bench;
}

Result<std::unique_ptr<Launch>> ProblemBench::launch_of(Kind kind, const Candidate* candidate) {
  switch (kind) {
    case Kind::kKernel:
    case Kind::kVendor:
      if (candidate == nullptr)
        return fail(ErrorCode::kInternal, "a launch of kind {} without a config", name(kind));
      return make_launch(*candidate);
    case Kind::kCublas:
    case Kind::kCublasAutotune: {
      GEMMSMITH_TRY(std::unique_ptr<CublasLaunch> launch, cublas_launch(kind));
      return std::unique_ptr<Launch>(std::move(launch));
    }
    case Kind::kLtFirst: {
      GEMMSMITH_TRY(const std::vector<vendor::LtAlgo> found, lt_->heuristics(1));
      return std::unique_ptr<Launch>(
          std::make_unique<LtLaunch>(*lt_, found.front(), session_.vendor_workspace()));
    }
    case Kind::kLtTuned:
      break;
  }
  if (algos_.empty())
    return fail(ErrorCode::kInternal, "lt_tuned is known where it was timed: name its config");
  return std::unique_ptr<Launch>(
      std::make_unique<LtLaunch>(*lt_, algos_[tuned_]->algo(), session_.vendor_workspace()));
}

// Only reads, so that nothing dirty is left to be written back during the launch.
Result<void> ProblemBench::flush_l2() {
  const std::int64_t bytes = kFlushTimesL2 * session_.target().l2_bytes;
  if (static_cast<std::int64_t>(session_.flush.size()) < bytes) {
    session_.flush = DeviceBuffer();
    GEMMSMITH_TRY(session_.flush,
                  DeviceBuffer::allocate(session_.driver(), static_cast<std::size_t>(bytes)));
    GEMMSMITH_TRY(session_.flush_report, DeviceBuffer::allocate(session_.driver(), sizeof(Report)));
    GEMMSMITH_CHECK(check(session_.driver(),
                          session_.driver().MemsetD32Async(session_.flush.address(), 0,
                                                           static_cast<std::size_t>(bytes / 4),
                                                           session_.stream.get()),
                          "clearing the buffer that empties L2"));
  }
  return session_.kernels.compare_words(session_.stream.get(), session_.flush.address(),
                                        session_.flush.address(), bytes / 2,
                                        session_.flush_report.address());
}

Result<void> ProblemBench::warm_up(Launch& launch) {
  const plan::Operands operands = layout_.at(session_.operands.pointer(), 0);
  GEMMSMITH_CHECK(launch_once(launch));
  GEMMSMITH_TRY(const Event start, Event::create(session_.driver()));
  GEMMSMITH_TRY(const Event stop, Event::create(session_.driver()));
  double total_us = 0;
  for (int i = 0; i < kMostWarmUps && total_us < kWarmUpUs; ++i) {
    GEMMSMITH_CHECK(start.record(session_.stream.get()));
    GEMMSMITH_CHECK(launch.enqueue(operands, session_.stream.get()));
    GEMMSMITH_CHECK(stop.record(session_.stream.get()));
    GEMMSMITH_CHECK(session_.stream.synchronize());
    GEMMSMITH_TRY(const double us, elapsed_us(start, stop));
    total_us += us;
  }
  return {};
}

Result<CounterReport> ProblemBench::count(Kind kind, const Candidate* candidate,
                                          RangeProfiler& profiler, CounterScope scope) {
  PhaseClock::Scope phase(session_.phases, "count");
  CounterReport report;
  report.chip = profiler.chip();
  GEMMSMITH_TRY(const std::vector<const CounterRow*> rows, counter_rows(report.chip, scope));
  std::vector<std::string> metrics;
  for (const CounterRow* row : rows) metrics.emplace_back(metric_name(*row, report.chip));
  GEMMSMITH_TRY(const MetricSet set, profiler.metric_set(std::move(metrics)));
  report.passes = static_cast<int>(set.passes());
  const auto launch = launch_of(kind, candidate);
  const auto ready = launch ? warm_up(**launch) : Result<void>(tl::unexpected(launch.error()));
  if (!ready) {
    if (session_.is_broken()) return tl::unexpected<Error>(ready.error());
    report.status = Status::kLaunch;
    report.detail = ready.error().what;
    return report;
  }
  const plan::Operands operands = layout_.at(session_.operands.pointer(), 0);
  std::array<CounterValues, kCountedLaunches> counts;
  for (CounterValues& values : counts) {
    // Both what is counted and the empty kernel come right behind what empties L2, which takes
    // longer than the host needs to launch them: a profiler's window that waits for the host would
    // count that wait.
    GEMMSMITH_TRY(std::vector<std::vector<double>> kernels,
                  profiler.collect(
                      set, [&] { return flush_l2(); },
                      [&]() -> Result<void> {
                        GEMMSMITH_CHECK(flush_l2());
                        GEMMSMITH_CHECK(session_.kernels.empty(session_.stream.get()));
                        GEMMSMITH_CHECK(flush_l2());
                        return (*launch)->enqueue(operands, session_.stream.get());
                      }));
    constexpr std::size_t kEmpty = 1, kFirst = 3;
    if (kernels.size() <= kFirst)
      return fail(ErrorCode::kDevice, "CUPTI counted {} kernels of a launch and the {} before it",
                  kernels.size(), kFirst);
    const std::vector<double> empty = kernels[kEmpty];
    kernels.erase(kernels.begin(), kernels.begin() + kFirst);
    report.kernels = static_cast<int>(kernels.size());
    values = merge_kernels(
        rows, without_launch(rows, std::move(kernels), empty, session_.target().sm_count));
  }
  report.values = mean_of(counts);
  return report;
}

Result<void> ProblemBench::launch_marked(Kind kind, const Candidate* candidate) {
  GEMMSMITH_TRY(const std::unique_ptr<Launch> launch, launch_of(kind, candidate));
  GEMMSMITH_CHECK(warm_up(*launch));
  GEMMSMITH_TRY(const ProfilerMarks marks, ProfilerMarks::open());
  const plan::Operands operands = layout_.at(session_.operands.pointer(), 0);
  for (int i = 0; i < kCountedLaunches; ++i) {
    GEMMSMITH_CHECK(flush_l2());
    GEMMSMITH_CHECK(session_.stream.synchronize());
    GEMMSMITH_CHECK(marks.start());
    // The empty kernel's figures are the profiler's and the launch's own.
    const auto launched = [&]() -> Result<void> {
      GEMMSMITH_CHECK(session_.kernels.empty(session_.stream.get()));
      return launch->enqueue(operands, session_.stream.get());
    }();
    const auto finished = session_.stream.synchronize();
    GEMMSMITH_CHECK(marks.stop());
    GEMMSMITH_CHECK(launched);
    GEMMSMITH_CHECK(finished);
  }
  return {};
}

Result<LoadReport> ProblemBench::sustain(Kind kind, const Candidate* candidate, double seconds) {
  PhaseClock::Scope phase(session_.phases, "sustain");
  LoadReport report;
  const auto launch = launch_of(kind, candidate);
  const auto quick = launch ? quick_time(**launch) : Result<double>(tl::unexpected(launch.error()));
  if (!quick) {
    if (session_.is_broken()) return tl::unexpected<Error>(quick.error());
    report.status = Status::kLaunch;
    report.detail = quick.error().what;
    return report;
  }
  const double us = std::max(*quick, 0.1);
  const int launches = std::max(1, static_cast<int>(kGraphUs / us));
  GEMMSMITH_TRY(const TimedGraph graph,
                session_.timer->capture(launch->get(), Pattern::kLaunch,
                                        session_.operands.pointer(), layout_, 0, launches));
  const int replays = std::max(1, static_cast<int>(kSliceUs / (us * launches)));
  const CUstream stream = session_.stream.get();
  std::array<Slice, 2> slices;
  for (Slice& slice : slices) {
    GEMMSMITH_TRY(slice.start, Event::create(session_.driver()));
    GEMMSMITH_TRY(slice.stop, Event::create(session_.driver()));
  }
  const auto enqueue = [&](const Slice& slice) -> Result<void> {
    GEMMSMITH_CHECK(slice.start.record(stream));
    for (int i = 0; i < replays; ++i) GEMMSMITH_CHECK(graph.exec.launch(stream));
    return slice.stop.record(stream);
  };
  std::vector<GpuSample> samples;
  EnergyMeter meter;
  double gpu_us = 0;
  const auto begin = std::chrono::steady_clock::now();
  GEMMSMITH_CHECK(enqueue(slices[0]));
  // One slice is always queued behind the one that is waited for: a GPU that idles between slices
  // would take less power and use more energy a launch.
  for (std::size_t turn = 0;; ++turn) {
    const Slice& slice = slices[turn % 2];
    GEMMSMITH_CHECK(enqueue(slices[(turn + 1) % 2]));
    GpuSample sample = session_.monitor->sample();  // while the GPU works
    const double now = seconds_since(begin);
    GEMMSMITH_CHECK(slice.stop.synchronize());
    if (now < kSettleS) continue;
    GEMMSMITH_TRY(const double slice_us, elapsed_us(slice.start, slice.stop));
    gpu_us += slice_us;
    meter.see(now, sample.energy_j, report.launches);
    report.launches += static_cast<std::int64_t>(launches) * replays;
    const bool has_meter = sample.energy_j.has_value();
    samples.push_back(std::move(sample));
    if (now < kSettleS + seconds) continue;
    if (!has_meter || meter.covers(seconds) || now > kSettleS + seconds + kPatienceS) break;
  }
  GEMMSMITH_CHECK(session_.stream.synchronize());
  report.us = gpu_us / static_cast<double>(report.launches);
  summarise(samples, meter, report);
  return report;
}

}  // namespace gemmsmith
