#include "cli/live_monitor.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/decision_text.h"
#include "monitor/series_writer.h"
#include "vendor/all_families.h"
#include "watch/watching.h"

namespace gemmsmith::cli {
namespace {

constexpr const char* kLiveMetrics[] = {"latency_ratio", "power_pct", "sm_clock_pct"};

bool is_live(const monitor::Rule& rule) {
  const std::string_view metric = monitor::metrics()[rule.metric].name;
  return std::find(std::begin(kLiveMetrics), std::end(kLiveMetrics), metric) !=
         std::end(kLiveMetrics);
}

// A file that lines are added to, each on the disk's side when it is whole.
class LineFile {
 public:
  static Result<LineFile> open(const std::string& path, std::ios::openmode mode) {
    LineFile file;
    if (path.empty()) return file;
    if (is_unread_pipe(path))
      return fail(ErrorCode::kEnvironment, "cannot write {}: a pipe that nobody reads", path);
    file.path_ = path;
    file.stream_.open(path, mode);
    GEMMSMITH_CHECK(file.check());
    return file;
  }
  Result<void> add(const std::string& line) {
    if (path_.empty()) return {};
    stream_ << line << std::flush;
    return check();
  }

 private:
  Result<void> check() const {
    if (stream_) return {};
    return fail(ErrorCode::kEnvironment, "cannot write {}: {}", path_, std::strerror(errno));
  }
  std::string path_;
  std::ofstream stream_;
};

class LiveMonitor {
 public:
  LiveMonitor(const LiveOptions& options, const monitor::Policy& policy, const Target& target,
              LineFile log, LineFile record)
      : options_(options),
        policy_(policy),
        target_(target),
        writer_(policy),
        log_(std::move(log)),
        record_(std::move(record)) {}

  Result<int> run() {
    GEMMSMITH_CHECK(record_.add(writer_.header()));
    while (!interrupted()) {
      GEMMSMITH_CHECK(watching_ ? look() : attach());
      sleep();
    }
    if (watching_) note("the monitor ends: every shape is served by its plan again");
    return 0;
  }

 private:
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    if (!options_.quiet) talk("{}\n", fmt::format(text, std::forward<Args>(args)...));
  }

  void sleep() const {
    const auto ns = std::chrono::nanoseconds(options_.interval).count();
    const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&time, nullptr);  // a signal ends it
  }

  Result<void> attach() {
    GEMMSMITH_TRY(watching_, watch::Watching::attach(options_.attach));
    if (!watching_) {
      if (!is_waiting_)
        note("waiting for a process that runs with GEMMSMITH_MONITOR={}", options_.attach);
      is_waiting_ = true;
      return {};
    }
    is_waiting_ = false;
    note("watching process {} by {}", watching_->process(), options_.attach);
    return {};
  }

  Result<void> look() {
    // Asked first: what it told until it ended is still looked at.
    const bool is_live = watching_->is_live(options_.attach);
    watching_->beat();
    for (const watch::SeenShape& seen : watching_->new_shapes()) add(seen);
    for (monitor::LiveShape& shape : shapes_) GEMMSMITH_CHECK(look_at(shape));
    if (const std::uint64_t left_out = watching_->shapes_left_out();
        left_out > 0 && !std::exchange(has_said_left_out_, true))
      note("more than {} shapes: the others are served unwatched", watch::kMostShapes);
    if (is_live) return {};
    note("process {} has ended", watching_->process());
    watching_.reset();
    shapes_.clear();
    return {};
  }

  void add(const watch::SeenShape& seen) {
    auto shape = monitor::LiveShape::make(seen, policy_, target_, all_families());
    if (!shape) {
      note("{}_{}_{} is not watched: {}", seen.key.m, seen.key.n, seen.key.k, shape.error().what);
      return;
    }
    shapes_.push_back(*std::move(shape));
  }

  const GpuSample& gpu_of(const std::string& device) {
    auto [gpu, is_new] = gpus_.try_emplace(device);
    if (is_new) gpu->second.monitor.emplace(GpuMonitor::open(device));
    Gpu& found = gpu->second;
    // A look serves all timings of an interval.
    if (const std::uint64_t now = watch::now_ns();
        is_new ||
        now - found.time_ns >=
            static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.interval).count()) / 2) {
      found.sample = found.monitor->sample();
      found.time_ns = now;
    }
    if (is_new && !found.sample.unavailable.empty())
      note("clocks, power and throttling are not known: {}", found.sample.unavailable);
    return found.sample;
  }

  Result<void> look_at(monitor::LiveShape& shape) {
    const std::vector<watch::Timing> timings = watching_->new_timings(shape.place());
    if (timings.empty()) return {};
    const GpuSample& gpu = gpu_of(shape.device());
    for (const watch::Timing& timing : timings) {
      const bool was_learning = !shape.baseline().us();
      const double t_s =
          timing.time_ns > start_ns_ ? static_cast<double>(timing.time_ns - start_ns_) * 1e-9 : 0;
      last_s_ = std::max(last_s_, t_s);
      const auto look = shape.look(timing, gpu, last_s_);
      if (was_learning && shape.baseline().us()) tell_baseline(shape);
      if (!look) continue;
      GEMMSMITH_CHECK(record_.add(writer_.line(shape, *look, gpu)));
      const auto decision = shape.judge(*look, timing);
      if (!decision) continue;
      watching_->order(shape.place(), shape.order());
      GEMMSMITH_CHECK(tell({*decision, *look, gpu}));
    }
    return {};
  }

  void tell_baseline(const monitor::LiveShape& shape) {
    const monitor::Baseline& baseline = shape.baseline();
    const std::string name = shape_name(shape.problem());
    if (baseline.promised_us() == 0)
      note("{}: {} promised nothing: its first {} timings, {:.1f} us, are what it is held to", name,
           shape.plan(), monitor::Baseline::kTimings, *baseline.us());
    else
      note(
          "{}: {} promised {:.1f} us; its first {} timings were {:.1f} us: it is held to {:.1f} us",
          name, shape.plan(), baseline.promised_us(), monitor::Baseline::kTimings,
          baseline.seen_us(), *baseline.us());
  }

  Result<void> tell(const LiveDecision& decision) {
    const std::string json = json_of(decision).dump() + "\n";
    if (options_.format == OutputFormat::kJson)
      std::cout << json << std::flush;
    else
      std::cout << text_of(decision) << "\n" << std::flush;
    return log_.add(json);
  }

  struct Gpu {
    std::optional<GpuMonitor> monitor;
    GpuSample sample;
    std::uint64_t time_ns = 0;
  };

  const LiveOptions& options_;
  const monitor::Policy& policy_;
  const Target& target_;
  const monitor::SeriesWriter writer_;
  LineFile log_, record_;
  const std::uint64_t start_ns_ = watch::now_ns();
  double last_s_ = 0;  // the series goes on in time, whichever shape is looked at
  std::optional<watch::Watching> watching_;
  std::vector<monitor::LiveShape> shapes_;
  std::map<std::string, Gpu> gpus_;
  bool is_waiting_ = false;
  bool has_said_left_out_ = false;
};

}  // namespace

Result<int> monitor_live(const LiveOptions& options, const monitor::Policy& policy,
                         const Target& target) {
  std::size_t judged = 0;
  for (const monitor::Rule& rule : policy.rules) {
    if (is_live(rule))
      ++judged;
    else if (!options.quiet)
      talk("the rule '{}' is inactive: nothing measures {} in a running process\n", rule.name,
           monitor::metrics()[rule.metric].name);
  }
  if (judged == 0)
    return fail(ErrorCode::kBadInput, "{}: no rule can be judged live: expected one about {}",
                policy.source, fmt::join(kLiveMetrics, ", "));
  GEMMSMITH_TRY(LineFile log, LineFile::open(options.log, std::ios::app));
  GEMMSMITH_TRY(LineFile record, LineFile::open(options.record, std::ios::trunc));
  return LiveMonitor(options, policy, target, std::move(log), std::move(record)).run();
}

}  // namespace gemmsmith::cli
