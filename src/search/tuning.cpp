#include "search/tuning.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/interrupt.h"
#include "policy/analytic_ranker.h"

namespace gemmsmith {

TuningRun::TuningRun(Bench& bench, Store& store, const TunerOptions& options, RunPurpose purpose)
    : bench_(&bench),
      store_(&store),
      options_(&options),
      environment_(environment_of(bench)),
      id_(make_run_id(purpose)) {}

Result<TuningRun> TuningRun::start(Bench& bench, Store& store, const TunerOptions& options,
                                   RunPurpose purpose) {
  TuningRun run(bench, store, options, purpose);
  GEMMSMITH_CHECK(store.start_run(Run{run.id_, run.environment_, utc_now(), options.command,
                                      options.seed, bench.conditions()}));
  return run;
}

std::string TuningRun::kernel_hash(const std::string& config, Kind kind,
                                   const Problem& problem) const {
  if (kind != Kind::kKernel || !options_->kernel_hash) return {};
  const auto parsed = parse_config(config, kernel_families());
  return parsed ? options_->kernel_hash(*parsed, problem) : std::string();
}

Result<void> TuningRun::record(const Problem& problem, std::vector<Measurement>& rows,
                               const std::string& stage) {
  std::vector<StoredMeasurement> stored;
  for (Measurement& row : rows) {
    row.problem = problem;
    row.run = id_;
    stored.push_back({environment_, kernel_hash(row.config, row.kind, problem), row});
  }
  // Budgets are entered when all of a problem is done.
  const Progress progress{stage, 0, 0};
  return store_->record(environment_, stored, stage.empty() ? nullptr : &progress);
}

Result<std::vector<Measurement>> TuningRun::finals(const Problem& problem,
                                                   const std::vector<Config>& configs,
                                                   const std::string& stage) {
  GEMMSMITH_TRY(std::vector<Measurement> rows, bench_->finals(problem, configs));
  if (rows.size() != 2 * configs.size())
    return fail(ErrorCode::kInternal, "{}: the bench gave {} final rows for {} configs",
                describe(problem), rows.size(), configs.size());
  GEMMSMITH_CHECK(record(problem, rows, stage));
  return rows;
}

Result<void> TuningRun::keep_conditions() {
  return store_->update_conditions(id_, bench_->conditions());
}

Result<void> check_interrupt() {
  if (interrupted())
    return fail(ErrorCode::kInterrupted, "interrupted; everything measured so far is kept");
  return {};
}

Result<void> wait_for_others() {
  constexpr std::chrono::milliseconds kStep{50};
  constexpr int kSteps = 20;
  for (int i = 0; i < kSteps; ++i) {
    GEMMSMITH_CHECK(check_interrupt());
    std::this_thread::sleep_for(kStep);
  }
  return {};
}

bool stops_all_work(ErrorCode code) {
  return code == ErrorCode::kStore || code == ErrorCode::kEnvironment ||
         code == ErrorCode::kInterrupted;
}

Candidates candidate_configs(const Problem& problem, const Target& target,
                             const TunerOptions& options) {
  // As few as leave the ranker its say among the evolutionary strategy's founders.
  constexpr std::size_t kMostHints = 5;
  std::vector<Config> ranked =
      options.candidates
          ? options.candidates(problem)
          : policy::ranked_configs(problem, target, options.space_limit, options.per_kernel);
  Candidates candidates;
  if (options.hints)
    for (Config& hint : options.hints(problem, target)) {
      if (candidates.configs.size() == kMostHints) break;
      const auto found = std::find(ranked.begin(), ranked.end(), hint);
      if (found == ranked.end() && options.candidates) continue;  // a recording has no answer
      if (found != ranked.end()) ranked.erase(found);
      candidates.configs.push_back(std::move(hint));
    }
  candidates.hints = candidates.configs.size();
  std::move(ranked.begin(), ranked.end(), std::back_inserter(candidates.configs));
  return candidates;
}

namespace {

// All of it but the kernel's identity.
Winner winner_of(const Finalist& finalist, const std::string& run) {
  Winner winner;
  winner.problem = finalist.chained.problem;
  winner.source = finalist.kind == Kind::kKernel ? WinnerSource::kKernel : WinnerSource::kVendor;
  winner.config = finalist.config;
  winner.chained_us = finalist.chained.median_us;
  winner.chained_ratio = finalist.chained.ratio;
  winner.chained_low = finalist.chained.ratio_low;
  winner.foreign_us = finalist.foreign.median_us;
  winner.foreign_ratio = finalist.foreign.ratio;
  winner.foreign_low = finalist.foreign.ratio_low;
  winner.run = run;
  return winner;
}

}  // namespace

Winner winner_of(const Finalist& finalist, const TuningRun& run) {
  Winner winner = winner_of(finalist, run.id());
  winner.kernel_hash = run.kernel_hash(finalist.config, finalist.kind, winner.problem);
  return winner;
}

Winner lt_tuned_winner(const Problem& problem, std::span<const StoredMeasurement> rows,
                       const TuningRun& run, std::string note) {
  Winner winner;
  winner.problem = problem;
  winner.run = run.id();
  winner.note = std::move(note);
  for (const StoredMeasurement& row : rows) {
    const Measurement& m = row.measurement;
    if (m.kind != Kind::kLtTuned || m.status != Status::kOk) continue;
    winner.config = m.config;
    (m.setting == Setting::kChained ? winner.chained_us : winner.foreign_us) = m.median_us;
  }
  return winner;
}

std::optional<Winner> follower_of(const Winner& winner, std::span<const StoredMeasurement> rows) {
  if (winner.source != WinnerSource::kKernel) return std::nullopt;
  const std::string choosing = last_final_run(rows, RunPurpose::kTune);
  const std::string last = last_final_run(rows, RunPurpose::kRetest);
  Finalist plan;
  plan.kind = Kind::kKernel;
  plan.config = winner.config;
  plan.chained.ratio = winner.chained_ratio;
  const auto finalist =
      select_follower(measurements_of(rows, choosing), plan,
                      last > choosing ? measurements_of(rows, last) : std::vector<Measurement>());
  if (!finalist) return std::nullopt;
  Winner follower = winner_of(*finalist, finalist->chained.run);
  for (const StoredMeasurement& row : rows)
    if (row.measurement.run == follower.run && row.measurement.kind == Kind::kKernel &&
        row.measurement.config == follower.config)
      follower.kernel_hash = row.kernel_hash;
  return follower;
}

std::vector<Measurement> measurements_of(std::span<const StoredMeasurement> rows,
                                         const std::string& run) {
  std::vector<Measurement> measurements;
  for (const StoredMeasurement& row : rows)
    if (run.empty() || row.measurement.run == run) measurements.push_back(row.measurement);
  return measurements;
}

std::string last_final_run(std::span<const StoredMeasurement> rows, RunPurpose purpose) {
  std::string last;
  for (const StoredMeasurement& row : rows) {
    const Measurement& m = row.measurement;
    const bool counts = m.stage == Stage::kFinal && run_purpose(m.run) == purpose &&
                        (m.kind == Kind::kKernel || m.kind == Kind::kVendor);
    if (counts) last = std::max(last, m.run);
  }
  return last;
}

Environment environment_of(const Bench& bench) {
  return {bench.device().fingerprint(), kProtocolVersion};
}

}  // namespace gemmsmith
