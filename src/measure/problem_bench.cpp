#include "measure/problem_bench.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/interrupt.h"
#include "base/statistics.h"
#include "measure/floors.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

// GPU time of a final in one setting, for each quadruple wanted: long launches, whose replays vary
// by a few tenths of a percent, get fewer. The usual 12 take 60 ms, or as long as the least number.
constexpr double kQuadrupleLimitUs = 5e3;
// What one race of the baseline's tuning, and the baselines' own rows, may take.
constexpr double kBaselineLimitUs = 60e3;
constexpr int kMaxBaselineRounds = 9;
// Of the race of all algorithms, which only has to find two.
constexpr int kMaxRaceRounds = 5;
constexpr int kMinBaselineRounds = 3;
constexpr int kMaxHeuristics = 64;
// From here a launch is long enough to be timed once, by events alone.
constexpr double kLongLaunchUs = 50;
// Screening of launches this long leaves out the verifier's second run and the look after timing
// (finals have both), and repeats: a replay of one such launch varies little.
constexpr double kVeryLongLaunchUs = 1000;
constexpr int kVeryLongRepeats = 2;
constexpr double kFarBehind = 2.0;
constexpr double kVeryLongFarBehind = 1.15;
// An event pair around one launch also sees this much that is not the launch.
constexpr double kEventOverheadUs = 5;
// Quadruples between two looks at the foreign pass alone, whose time hardly changes.
constexpr int kPassEvery = 4;
// Operand sets of the rotation whose results are checked after timing.
constexpr std::size_t kTimedSets = 3;

int sets_to_cover(const OperandLayout& layout) {
  return layout.sets_to_cover <= kMaxOperandSets ? static_cast<int>(layout.sets_to_cover) : 0;
}

// At most `most` and at least kMinBaselineRounds; of very long launches at least `least`.
int rounds_within(double replay_us, std::size_t graphs, int least, int most) {
  const double affordable =
      kBaselineLimitUs / (std::max(replay_us, 1.0) * static_cast<double>(graphs));
  return std::clamp(static_cast<int>(std::min(affordable, 1e6)),
                    replay_us > kVeryLongLaunchUs ? least : kMinBaselineRounds, most);
}

// What is left after taking the foreign pass out must stay a time.
double without_pass(double us, double pass_us) { return std::max(us - pass_us, 0.01); }

void fail_row(Measurement& row, Status status, std::string detail) {
  row.status = status;
  row.detail = std::move(detail);
}

}  // namespace

Result<std::unique_ptr<ProblemBench>> ProblemBench::create(GpuSession& session,
                                                           const Problem& problem) {
  if (problem.is_empty() || problem.k == 0)
    return fail(ErrorCode::kUnsupported, "{}: nothing to measure", describe(problem));
  if (problem.grouped)
    return fail(ErrorCode::kUnsupported, "{}: groups are measured by bench_grouped alone",
                describe(problem));
  if (problem.has_epilogue())
    return fail(ErrorCode::kUnsupported,
                "{}: plain products are measured, whose plans serve epilogues, too",
                describe(problem));
  std::unique_ptr<ProblemBench> bench(new ProblemBench(session, problem));
  GEMMSMITH_CHECK(bench->fill_operands());
  GEMMSMITH_CHECK(bench->tune_baseline());
  GEMMSMITH_CHECK(bench->capture_baseline());
  PhaseClock::Scope phase(session.phases, "prepare_verifier");
  GEMMSMITH_CHECK(session.verifier->prepare(problem, *bench->algos_.front()));
  // Random sets of those that every replay visits.
  std::mt19937_64 random(session.settings.seed ^
                         static_cast<std::uint64_t>(problem.m * 31 + problem.n));
  const std::int64_t visited = std::min<std::int64_t>(
      bench->layout_.sets, std::min(bench->screen_graph_.launches, bench->foreign_launches()));
  std::uniform_int_distribution<std::int64_t> any(0, visited - 1);
  std::vector<std::int64_t> sets;
  for (std::size_t i = 0; i < kTimedSets; ++i) sets.push_back(any(random));
  GEMMSMITH_CHECK(
      session.verifier->prepare_timed(session.operands.pointer(), bench->layout_, sets));
  session.sample_clocks();
  return bench;
}

// Every set at once, guard bands and D included: they are poisoned where they are looked at.
Result<void> ProblemBench::fill_operands() {
  PhaseClock::Scope phase(session_.phases, "fill_operands");
  layout_ = timing_layout(problem_, session_.target().l2_bytes);
  GEMMSMITH_CHECK(session_.need_operands(layout_.bytes()));
  const std::int64_t elements = layout_.bytes() / size_bytes(problem_.type);
  const auto sequence =
      static_cast<std::uint64_t>(problem_.m ^ (problem_.n << 20) ^ (problem_.k << 40));
  return session_.kernels.fill_normal(session_.stream.get(), session_.operands.address(),
                                      {1, elements, elements}, problem_.type,
                                      session_.settings.seed + 1, sequence);
}

// A first guess of a launch's time: one launch between events after one to warm up, or a short
// graph where that would mostly see overheads.
Result<double> ProblemBench::quick_time(Launch& launch) {
  constexpr int kLaunches = 32;
  const plan::Operands operands = layout_.at(session_.operands.pointer(), 0);
  const CUstream stream = session_.stream.get();
  GEMMSMITH_TRY(const Event start, Event::create(session_.driver()));
  GEMMSMITH_TRY(const Event stop, Event::create(session_.driver()));
  GEMMSMITH_CHECK(launch.enqueue(operands, stream));
  GEMMSMITH_CHECK(start.record(stream));
  GEMMSMITH_CHECK(launch.enqueue(operands, stream));
  GEMMSMITH_CHECK(stop.record(stream));
  GEMMSMITH_CHECK(session_.stream.synchronize());
  GEMMSMITH_TRY(const double once_us, elapsed_us(start, stop));
  if (once_us > kLongLaunchUs) return once_us;
  GEMMSMITH_TRY(const TimedGraph graph,
                session_.timer->capture(&launch, Pattern::kLaunch, session_.operands.pointer(),
                                        layout_, 0, kLaunches));
  const TimedGraph* const once[] = {&graph};
  GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(once));
  return times.front();
}

// lt_tuned: the best of everything the heuristic returns, by rounds over all, then the two best
// against each other. A tie goes to the heuristic's order.
Result<void> ProblemBench::tune_baseline() {
  PhaseClock::Scope phase(session_.phases, "tune_lt");
  GEMMSMITH_TRY(vendor::LtMatmul matmul,
                vendor::LtMatmul::create(session_.lt, problem_, session_.settings.workspace_bytes));
  lt_ = std::make_unique<vendor::LtMatmul>(std::move(matmul));
  GEMMSMITH_TRY(const std::vector<vendor::LtAlgo> found, lt_->heuristics(kMaxHeuristics));
  // The first launch of each may load code, which no capture allows.
  const plan::Operands operands = layout_.at(session_.operands.pointer(), 0);
  for (const vendor::LtAlgo& algo : found) {
    algos_.push_back(std::make_unique<LtLaunch>(*lt_, algo, session_.vendor_workspace()));
    GEMMSMITH_CHECK(algos_.back()->enqueue(operands, session_.stream.get()));
  }
  GEMMSMITH_TRY(tuned_us_, quick_time(*algos_.front()));
  if (algos_.size() == 1) return {};

  const int launches =
      launches_per_replay(tuned_us_, session_.settings.screen_us, sets_to_cover(layout_));
  std::vector<TimedGraph> graphs;
  for (const auto& algo : algos_) {
    GEMMSMITH_TRY(TimedGraph graph,
                  session_.timer->capture(algo.get(), Pattern::kLaunch, session_.operands.pointer(),
                                          layout_, 0, launches));
    graphs.push_back(std::move(graph));
  }
  const auto race = [&](const std::vector<std::size_t>& runners,
                        int most) -> Result<std::vector<double>> {
    const int rounds = rounds_within(tuned_us_ * launches, runners.size(), 1, most);
    std::vector<const TimedGraph*> sequence;
    for (int round = 0; round < rounds; ++round)
      for (const std::size_t runner : runners) sequence.push_back(&graphs[runner]);
    GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
    std::vector<double> medians;
    for (std::size_t i = 0; i < runners.size(); ++i) {
      std::vector<double> own;
      for (std::size_t j = i; j < times.size(); j += runners.size()) own.push_back(times[j]);
      medians.push_back(median(own));
    }
    return medians;
  };
  std::vector<std::size_t> order(graphs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  GEMMSMITH_TRY(const std::vector<double> all, race(order, kMaxRaceRounds));
  std::stable_sort(order.begin(), order.end(),
                   [&all](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  std::vector<std::size_t> best = {std::min(order[0], order[1]), std::max(order[0], order[1])};
  GEMMSMITH_TRY(const std::vector<double> pair, race(best, kMaxBaselineRounds));
  tuned_ = pair[1] < pair[0] ? best[1] : best[0];
  tuned_us_ = std::min(pair[0], pair[1]);
  return {};
}

Result<void> ProblemBench::capture_baseline() {
  PhaseClock::Scope phase(session_.phases, "capture_baseline");
  const int cover = sets_to_cover(layout_);
  const auto capture = [&](int launches) {
    return session_.timer->capture(algos_[tuned_].get(), Pattern::kLaunch,
                                   session_.operands.pointer(), layout_, 0, launches);
  };
  const int screened = launches_per_replay(tuned_us_, session_.settings.screen_us, cover);
  const int finals = launches_per_replay(tuned_us_, session_.settings.final_us, cover);
  GEMMSMITH_TRY(screen_graph_, capture(screened));
  if (finals != screened) {
    GEMMSMITH_TRY(own_final_graph_, capture(finals));
  }
  return {};
}

const TimedGraph& ProblemBench::final_graph() const {
  return own_final_graph_.exec.is_empty() ? screen_graph_ : own_final_graph_;
}

// The pass takes about as long as a short launch: half the launches fill the same time, as long as
// they still cover what all of them would.
int ProblemBench::foreign_launches() const {
  const int all = final_graph().launches;
  return std::max((all + 1) / 2, std::min(all, sets_to_cover(layout_)));
}

// Only semi-finals and finals need these.
Result<void> ProblemBench::ensure_foreign() {
  if (!foreign_graph_.exec.is_empty()) return {};
  PhaseClock::Scope phase(session_.phases, "capture_foreign");
  const int launches = foreign_launches();
  GEMMSMITH_TRY(foreign_graph_,
                session_.timer->capture(algos_[tuned_].get(), Pattern::kLaunchThenForeign,
                                        session_.operands.pointer(), layout_, 0, launches));
  GEMMSMITH_TRY(pass_graph_,
                session_.timer->capture(nullptr, Pattern::kForeign, session_.operands.pointer(),
                                        layout_, 0, launches));
  return {};
}

std::string ProblemBench::lt_text(const vendor::LtAlgo& algo) const {
  const auto config = vendor::to_config(session_.lt->lt(), algo.algo);
  return config ? to_text(*config) : std::string();
}

CacheState ProblemBench::cache_of(int launches) const {
  return cache_state(problem_, session_.target().l2_bytes,
                     std::min<std::int64_t>(launches, layout_.sets));
}

void ProblemBench::apply_floor(Measurement& row) const {
  if (row.status != Status::kOk) return;
  // Between foreign kernels a launch may overlap with their tails, so its share can be below a
  // launch period.
  const double empty_us = row.setting == Setting::kChained ? session_.empty_us : 0;
  const double floor_us = impossible_floor_us(problem_, session_.target(), row.cache, empty_us);
  if (row.median_us >= floor_us) return;
  fail_row(
      row, Status::kFloor,
      fmt::format("{:.3f} us is below the impossible floor of {:.3f} us", row.median_us, floor_us));
}

Measurement ProblemBench::row_for(const Candidate& candidate, Stage stage, Setting setting) const {
  Measurement row;
  row.problem = problem_;
  row.kind = vendor::is_vendor(candidate.config) ? Kind::kVendor : Kind::kKernel;
  row.config = to_text(candidate.config);
  row.stage = stage;
  row.setting = setting;
  row.run = session_.run;
  row.compile_s = candidate.compile_s;
  row.cache = cache_of(stage == Stage::kScreen ? screen_graph_.launches : final_graph().launches);
  return row;
}

Measurement ProblemBench::baseline_row(Kind kind, std::string config, Setting setting) const {
  Measurement row;
  row.problem = problem_;
  row.kind = kind;
  row.config = std::move(config);
  row.stage = Stage::kFinal;
  row.setting = setting;
  row.run = session_.run;
  return row;
}

Result<std::unique_ptr<CublasLaunch>> ProblemBench::cublas_launch(Kind kind) {
  const vendor::CublasAlgo algo =
      kind == Kind::kCublasAutotune ? vendor::CublasAlgo::kAutotune : vendor::CublasAlgo::kDefault;
  GEMMSMITH_TRY(std::unique_ptr<CublasLaunch> launch,
                CublasLaunch::create(session_.cublas, problem_, algo, session_.vendor_workspace()));
  GEMMSMITH_CHECK(launch->prime(layout_.at(session_.operands.pointer(), 0), session_.stream.get()));
  return launch;
}

Result<std::vector<Measurement>> ProblemBench::baselines(Setting setting) {
  const bool foreign = setting == Setting::kForeign;
  if (foreign) GEMMSMITH_CHECK(ensure_foreign());
  PhaseClock::Scope phase(session_.phases, "baselines");
  constexpr std::size_t kTuned = 3;
  std::vector<Measurement> rows = {
      baseline_row(Kind::kCublas, "", setting), baseline_row(Kind::kCublasAutotune, "", setting),
      baseline_row(Kind::kLtFirst, lt_text(algos_.front()->algo()), setting),
      baseline_row(Kind::kLtTuned, lt_text(algos_[tuned_]->algo()), setting)};
  std::vector<TimedGraph> graphs(kTuned);
  const int launches = foreign ? foreign_launches() : final_graph().launches;
  for (Measurement& row : rows) row.cache = cache_of(launches);
  const auto capture = [&](std::size_t i, Launch& launch) -> Result<void> {
    const Pattern pattern = foreign ? Pattern::kLaunchThenForeign : Pattern::kLaunch;
    GEMMSMITH_TRY(graphs[i], session_.timer->capture(&launch, pattern, session_.operands.pointer(),
                                                     layout_, 0, launches));
    return {};
  };
  std::vector<std::unique_ptr<CublasLaunch>> keep;
  for (std::size_t i = 0; i < 2; ++i) {
    auto launch = cublas_launch(rows[i].kind);
    Result<void> ready;
    if (launch) {
      ready = capture(i, **launch);
      keep.push_back(std::move(*launch));
    } else {
      ready = tl::unexpected<Error>(launch.error());
    }
    if (ready) continue;
    if (session_.is_broken()) return tl::unexpected<Error>(ready.error());
    fail_row(rows[i], Status::kLaunch, ready.error().what);
  }
  GEMMSMITH_CHECK(capture(2, *algos_.front()));

  std::vector<std::size_t> runners;
  for (std::size_t i = 0; i < kTuned; ++i)
    if (rows[i].status == Status::kOk) runners.push_back(i);
  const int rounds = rounds_within(tuned_us_ * launches, runners.size() + 1, 2, kMaxBaselineRounds);
  // A round: lt_tuned, the others, and the foreign passes alone where their time must be taken out.
  std::vector<const TimedGraph*> sequence;
  for (int round = 0; round < rounds; ++round) {
    sequence.push_back(foreign ? &foreign_graph_ : &final_graph());
    for (const std::size_t i : runners) sequence.push_back(&graphs[i]);
    if (foreign) sequence.push_back(&pass_graph_);
  }
  GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
  const std::size_t stride = runners.size() + (foreign ? 2 : 1);
  double pass_us = 0;
  if (foreign) {
    std::vector<double> passes;
    for (std::size_t at = stride - 1; at < times.size(); at += stride) passes.push_back(times[at]);
    pass_us = median(passes);
  }
  std::vector<std::vector<Repeat>> repeats(kTuned + 1);
  for (std::size_t at = 0; at < times.size(); at += stride) {
    const double tuned_us = without_pass(times[at], pass_us);
    repeats[kTuned].push_back({tuned_us, tuned_us});
    for (std::size_t i = 0; i < runners.size(); ++i)
      repeats[runners[i]].push_back({without_pass(times[at + 1 + i], pass_us), tuned_us});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != Status::kOk) continue;
    summarise(repeats[i], rows[i]);
    apply_floor(rows[i]);
  }
  return rows;
}

Result<std::vector<Config>> ProblemBench::vendor_configs(int limit) {
  PhaseClock::Scope phase(session_.phases, "vendor_configs");
  return session_.lt_space->vendor_configs(*lt_, session_.target(), limit);
}

Result<std::unique_ptr<Launch>> ProblemBench::make_launch(const Candidate& candidate) {
  PhaseClock::Scope phase(session_.phases, "make_launch");
  if (vendor::is_vendor(candidate.config)) {
    GEMMSMITH_TRY(const vendor::LtAlgo algo, vendor::to_algo(candidate.config, *lt_));
    return std::unique_ptr<Launch>(
        std::make_unique<LtLaunch>(*lt_, algo, session_.vendor_workspace()));
  }
  GEMMSMITH_TRY(const CUfunction function, session_.modules.function(candidate.hash));
  GEMMSMITH_TRY(plan::LaunchPlan plan,
                plan::make_launch_plan(candidate.config, problem_, session_.target()));
  GEMMSMITH_CHECK(plan::prepare(session_.driver(), plan, function));
  GEMMSMITH_TRY(const plan::Scratch scratch, session_.scratch_for(plan));
  return std::unique_ptr<Launch>(std::make_unique<KernelLaunch>(
      session_.driver(), plan, plan::Functions{function, session_.kernels.pack()}, scratch));
}

Result<bool> ProblemBench::verified(Launch& launch, Effort effort, Measurement& row,
                                    double& launch_us) {
  PhaseClock::Scope phase(session_.phases, "verify");
  if (!session_.settings.verify) {
    const auto time = quick_time(launch);
    if (time) launch_us = *time;
    return charged(time, row);
  }
  GEMMSMITH_TRY(const Verdict verdict, session_.verifier->verify(launch, effort));
  launch_us = verdict.launch_us;
  if (verdict.status == Status::kOk) return true;
  fail_row(row, verdict.status, verdict.detail);
  return false;
}

// A candidate whose launch the driver refuses costs only itself.
template <class T>
Result<bool> ProblemBench::charged(const Result<T>& result, Measurement& row) const {
  if (result) return true;
  if (session_.is_broken()) return tl::unexpected<Error>(result.error());
  fail_row(row, Status::kLaunch, result.error().what);
  return false;
}

// The first launch may load code, which no capture allows.
Result<void> ProblemBench::launch_once(Launch& launch) {
  GEMMSMITH_CHECK(
      launch.enqueue(layout_.at(session_.operands.pointer(), 0), session_.stream.get()));
  return session_.stream.synchronize();
}

Result<void> ProblemBench::check_after(Launch& launch, const TimedGraph* graph, Measurement& row) {
  if (row.status != Status::kOk || !session_.settings.verify) return {};
  PhaseClock::Scope phase(session_.phases, "check_after_timing");
  const std::size_t set = next_timed_++ % kTimedSets;
  GEMMSMITH_CHECK(session_.verifier->arm_timed(set));
  const plan::Operands operands =
      layout_.at(session_.operands.pointer(), session_.verifier->timed_set(set));
  GEMMSMITH_TRY(const bool launched,
                charged(graph != nullptr ? graph->exec.launch(session_.stream.get())
                                         : launch.enqueue(operands, session_.stream.get()),
                        row));
  if (!launched) return {};
  GEMMSMITH_TRY(const Verdict verdict, session_.verifier->check_timed(set));
  if (verdict.status != Status::kOk) fail_row(row, verdict.status, verdict.detail);
  // The next candidates' data and samples must be what they were: the same draw again.
  if (verdict.wrote_outside) return fill_operands();
  return {};
}

Result<void> ProblemBench::screen(std::span<const Candidate> candidates, Setting setting,
                                  const BenchEvents& events, int group) {
  if (setting == Setting::kForeign) GEMMSMITH_CHECK(ensure_foreign());
  const auto size = static_cast<std::size_t>(std::max(group, 1));
  for (std::size_t first = 0; first < candidates.size(); first += size) {
    if (interrupted())
      return fail(ErrorCode::kInterrupted, "interrupted while screening {}", describe(problem_));
    const std::size_t count = std::min(size, candidates.size() - first);
    GEMMSMITH_CHECK(screen_group(candidates, first, count, setting, events));
  }
  return {};
}

Result<bool> ProblemBench::prepare_screening(const Candidate& candidate, Entry& entry) {
  const bool foreign = entry.row.setting == Setting::kForeign;
  auto made = make_launch(candidate);
  if (!made) {
    fail_row(entry.row, Status::kLaunch, made.error().what);
    return false;
  }
  entry.launch = std::move(*made);
  int launches = foreign ? foreign_launches() : screen_graph_.launches;
  if (foreign) {
    GEMMSMITH_TRY(const bool launched, charged(launch_once(*entry.launch), entry.row));
    if (!launched) return false;
  } else {
    const Effort effort = tuned_us_ > kVeryLongLaunchUs ? Effort::kQuick : Effort::kFull;
    double launch_us = 0;
    GEMMSMITH_TRY(const bool right, verified(*entry.launch, effort, entry.row, launch_us));
    if (!right) return false;
    // A slow candidate gets fewer launches, so that its replays take no longer than others'.
    if (launch_us > 3 * tuned_us_ + kEventOverheadUs)
      launches = std::max(1, static_cast<int>(launches * tuned_us_ / launch_us));
    const bool very_long = tuned_us_ > kVeryLongLaunchUs;
    entry.slow = launch_us > (very_long ? kVeryLongFarBehind : kFarBehind) * tuned_us_ &&
                 tuned_us_ > kVeryLongLaunchUs / 5;
  }
  PhaseClock::Scope phase(session_.phases, "capture");
  auto graph = session_.timer->capture(entry.launch.get(),
                                       foreign ? Pattern::kLaunchThenForeign : Pattern::kLaunch,
                                       session_.operands.pointer(), layout_, 0, launches);
  GEMMSMITH_TRY(const bool captured, charged(graph, entry.row));
  if (!captured) return false;
  entry.graph = std::move(*graph);
  entry.row.cache = cache_of(launches);
  return true;
}

Result<void> ProblemBench::screen_group(std::span<const Candidate> candidates, std::size_t first,
                                        std::size_t count, Setting setting,
                                        const BenchEvents& events) {
  std::vector<Entry> entries;
  for (std::size_t i = first; i < first + count; ++i) {
    const std::size_t own[] = {i};
    events.begin(own);
    Entry entry;
    entry.index = i;
    entry.row = row_for(candidates[i], Stage::kScreen, setting);
    GEMMSMITH_TRY(const bool ready, prepare_screening(candidates[i], entry));
    if (ready) {
      entries.push_back(std::move(entry));
      continue;
    }
    events.done(i, {entry.row});
    if (entry.row.status == Status::kFault && session_.is_broken())
      return fail(ErrorCode::kDevice, "the context was lost to {}", to_text(candidates[i].config));
  }
  if (entries.empty()) return {};
  std::vector<std::size_t> running;
  for (const Entry& entry : entries) running.push_back(entry.index);
  events.begin(running);
  if (const auto timed = time_group(entries, setting); !timed) {
    if (session_.is_broken()) return timed;
    // What the driver refuses in a sequence has no name; alone it has.
    for (std::size_t i = 0; i < entries.size(); ++i)
      GEMMSMITH_CHECK(
          charged(time_group(std::span(entries).subspan(i, 1), setting), entries[i].row));
  }
  for (Entry& entry : entries) {
    const std::size_t own[] = {entry.index};
    events.begin(own);
    if (entry.row.status == Status::kOk) {
      summarise(entry.repeats, entry.row);
      apply_floor(entry.row);
      if (tuned_us_ <= kVeryLongLaunchUs)
        GEMMSMITH_CHECK(check_after(*entry.launch, nullptr, entry.row));
    }
    events.done(entry.index, {entry.row});
  }
  return {};
}

// baseline, candidates, baseline, candidates, ..., baseline: each repeat is set against the mean of
// the baseline's replays before and after it. Between foreign kernels a repeat begins with the
// passes alone, whose time is taken out of both.
Result<void> ProblemBench::time_group(std::span<Entry> entries, Setting setting) {
  const bool foreign = setting == Setting::kForeign;
  PhaseClock::Scope phase(session_.phases, foreign ? "semifinal_timing" : "screen_timing");
  const TimedGraph* const baseline = foreign ? &foreign_graph_ : &screen_graph_;
  const int wanted = session_.settings.screen_repeats;
  const int repeats = tuned_us_ > kVeryLongLaunchUs ? std::min(wanted, kVeryLongRepeats) : wanted;
  std::vector<const TimedGraph*> sequence;
  std::vector<std::vector<std::size_t>> positions;
  std::vector<std::size_t> baseline_at;
  std::vector<std::size_t> pass_at;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    if (foreign) {
      pass_at.push_back(sequence.size());
      sequence.push_back(&pass_graph_);
    }
    baseline_at.push_back(sequence.size());
    sequence.push_back(baseline);
    std::vector<std::size_t>& at = positions.emplace_back(entries.size(), 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].slow && repeat > 0) continue;
      at[i] = sequence.size();
      sequence.push_back(&entries[i].graph);
    }
  }
  baseline_at.push_back(sequence.size());
  sequence.push_back(baseline);
  GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
  std::vector<double> passes;
  for (const std::size_t at : pass_at) passes.push_back(times[at]);
  const double pass_us = foreign ? median(passes) : 0;
  for (std::size_t repeat = 0; repeat < positions.size(); ++repeat) {
    const double around = (times[baseline_at[repeat]] + times[baseline_at[repeat + 1]]) / 2;
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (positions[repeat][i] != 0)  // 0 is always a baseline's or a pass's place
        entries[i].repeats.push_back(
            {without_pass(times[positions[repeat][i]], pass_us), without_pass(around, pass_us)});
  }
  return {};
}

Result<void> ProblemBench::finals(std::span<const Candidate> candidates,
                                  const BenchEvents& events) {
  GEMMSMITH_CHECK(ensure_foreign());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (interrupted())
      return fail(ErrorCode::kInterrupted, "interrupted in the finals of {}", describe(problem_));
    const std::size_t own[] = {i};
    events.begin(own);
    const Candidate& candidate = candidates[i];
    std::vector<Measurement> rows = {row_for(candidate, Stage::kFinal, Setting::kChained),
                                     row_for(candidate, Stage::kFinal, Setting::kForeign)};
    const auto fail_both = [&rows](Status status, const std::string& detail) {
      for (Measurement& row : rows) fail_row(row, status, detail);
    };
    auto launch = make_launch(candidate);
    if (!launch) {
      fail_both(Status::kLaunch, launch.error().what);
      events.done(i, rows);
      continue;
    }
    double launch_us = 0;
    GEMMSMITH_TRY(const bool right, verified(**launch, Effort::kFull, rows[0], launch_us));
    if (!right) {
      fail_both(rows[0].status, rows[0].detail);
      events.done(i, rows);
      if (rows[0].status == Status::kFault && session_.is_broken())
        return fail(ErrorCode::kDevice, "the context was lost to {}", to_text(candidate.config));
      continue;
    }
    GEMMSMITH_TRY(rows[0],
                  final_row(candidate, **launch, Setting::kChained, session_.settings.final_pairs));
    // Who has lost one setting cannot serve: the other is for the record.
    const bool lost = rows[0].status == Status::kOk && rows[0].ratio_high < 1;
    const int pairs = session_.settings.final_pairs;
    GEMMSMITH_TRY(rows[1],
                  final_row(candidate, **launch, Setting::kForeign, lost ? pairs / 2 : pairs));
    // A plan that is wrong in one setting is wrong.
    for (std::size_t other = 0; other < 2; ++other)
      if (rows[other].status == Status::kWrong && rows[1 - other].status == Status::kOk)
        fail_row(rows[1 - other], Status::kWrong, rows[other].detail);
    events.done(i, rows);
  }
  session_.sample_clocks();
  return {};
}

Result<Measurement> ProblemBench::final_row(const Candidate& candidate, Launch& launch,
                                            Setting setting, int wanted) {
  Measurement row = row_for(candidate, Stage::kFinal, setting);
  const bool foreign = setting == Setting::kForeign;
  const int graph_launches = foreign ? foreign_launches() : final_graph().launches;
  row.cache = cache_of(graph_launches);
  TimedGraph graph;
  {
    PhaseClock::Scope phase(session_.phases, "capture");
    auto captured =
        session_.timer->capture(&launch, foreign ? Pattern::kLaunchThenForeign : Pattern::kLaunch,
                                session_.operands.pointer(), layout_, 0, graph_launches);
    GEMMSMITH_TRY(const bool ready, charged(captured, row));
    if (!ready) return row;
    graph = std::move(*captured);
  }
  const int quadruples =
      quadruples_within(wanted, tuned_us_ * final_graph().launches, wanted * kQuadrupleLimitUs);
  const auto measured = time_pairs(graph, foreign ? foreign_graph_ : final_graph(),
                                   foreign ? &pass_graph_ : nullptr, quadruples);
  GEMMSMITH_TRY(const bool timed, charged(measured, row));
  if (!timed) return row;
  summarise(*measured, row);
  apply_floor(row);
  GEMMSMITH_CHECK(check_after(launch, &graph, row));
  return row;
}

Result<std::vector<Quadruple>> ProblemBench::time_pairs(const TimedGraph& candidate,
                                                        const TimedGraph& baseline,
                                                        const TimedGraph* foreign, int quadruples) {
  PhaseClock::Scope phase(session_.phases, foreign != nullptr ? "foreign_pairs" : "chained_pairs");
  std::vector<const TimedGraph*> sequence;
  for (int i = 0; i < quadruples; ++i) {
    if (foreign != nullptr && i % kPassEvery == 0) sequence.push_back(foreign);
    sequence.insert(sequence.end(), {&candidate, &baseline, &baseline, &candidate});
  }
  GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
  std::vector<double> passes;
  std::vector<Quadruple> result;
  std::size_t at = 0;
  for (int i = 0; i < quadruples; ++i) {
    if (foreign != nullptr && i % kPassEvery == 0) passes.push_back(times[at++]);
    result.push_back({times[at], times[at + 1], times[at + 2], times[at + 3]});
    at += 4;
  }
  if (foreign == nullptr) return result;
  const double pass_us = median(passes);
  for (Quadruple& q : result)
    for (double* const us :
         {&q.candidate_first, &q.baseline_first, &q.baseline_second, &q.candidate_second})
      *us = without_pass(*us, pass_us);
  return result;
}

Result<Measurement> ProblemBench::pair_with_itself(const Candidate& candidate, Setting setting,
                                                   int count, std::vector<Quadruple>& quadruples) {
  const bool foreign = setting == Setting::kForeign;
  if (foreign) GEMMSMITH_CHECK(ensure_foreign());
  GEMMSMITH_TRY(const std::unique_ptr<Launch> launch, make_launch(candidate));
  GEMMSMITH_CHECK(launch_once(*launch));
  const auto capture = [&] {
    return session_.timer->capture(launch.get(),
                                   foreign ? Pattern::kLaunchThenForeign : Pattern::kLaunch,
                                   session_.operands.pointer(), layout_, 0,
                                   foreign ? foreign_launches() : final_graph().launches);
  };
  GEMMSMITH_TRY(const TimedGraph one, capture());
  GEMMSMITH_TRY(const TimedGraph other, capture());
  GEMMSMITH_TRY(quadruples, time_pairs(one, other, foreign ? &pass_graph_ : nullptr, count));
  Measurement row = row_for(candidate, Stage::kFinal, setting);
  summarise(quadruples, row);
  return row;
}

}  // namespace gemmsmith
