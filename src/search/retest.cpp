// The second look: plans chosen by one process are paired with lt_tuned again by a fresh one. The
// best of many noisy candidates looks better than it is; these figures do not.
#include <algorithm>
#include <numeric>

#include "search/selection.h"
#include "search/tuner.h"
#include "search/tuning.h"
#include "vendor/all_families.h"

namespace gemmsmith {
namespace {

// A plan that seems to have lost gets this many times the pairs before it is given up.
constexpr int kConfirmFactor = 4;

const Finalist* find(const std::vector<Finalist>& finalists, const Winner& winner) {
  const Kind kind = winner.source == WinnerSource::kKernel ? Kind::kKernel : Kind::kVendor;
  for (const Finalist& finalist : finalists)
    if (finalist.kind == kind && finalist.config == winner.config) return &finalist;
  return nullptr;
}

std::string describe_loss(const Finalist& finalist) {
  if (!finalist.ok()) {
    const Measurement& bad =
        finalist.chained.status != Status::kOk ? finalist.chained : finalist.foreign;
    return fmt::format("{} {}", name(bad.status), bad.detail);
  }
  return fmt::format("{:.3f}x chained, {:.3f}x between foreign kernels", finalist.chained.ratio,
                     finalist.foreign.ratio);
}

class Retester {
 public:
  Retester(const BenchFactory& make_bench, Store& store, const TunerOptions& options)
      : make_bench_(make_bench), store_(store), options_(options) {}

  Result<RetestSummary> run(std::span<const Problem> problems, const TuneCallback& callback) {
    GEMMSMITH_TRY(bench_, make_bench_(1));
    GEMMSMITH_TRY(TuningRun run, TuningRun::start(*bench_, store_, options_, RunPurpose::kRetest));
    run_ = &run;
    RetestSummary summary;
    summary.run = run.id();
    std::vector<std::size_t> waiting(problems.size());
    std::iota(waiting.begin(), waiting.end(), std::size_t{0});
    auto done = pass(waiting, problems, summary, callback);
    while (done && options_.wait_for_others && !waiting.empty()) {
      done = wait_for_others();
      if (done) done = pass(waiting, problems, summary, callback);
    }
    if (!done && done.error().code != ErrorCode::kInterrupted)
      return tl::unexpected<Error>(done.error());
    summary.interrupted = !done;
    GEMMSMITH_CHECK(run.keep_conditions());
    if (confirm_run_) GEMMSMITH_CHECK(confirm_run_->keep_conditions());
    return summary;
  }

 private:
  // Tests each of `waiting`, problems by index; leaves there those that another process holds.
  Result<void> pass(std::vector<std::size_t>& waiting, std::span<const Problem> problems,
                    RetestSummary& summary, const TuneCallback& callback) {
    std::vector<std::size_t> held;
    for (const std::size_t i : waiting) {
      bool is_held = false;
      auto outcome = test(problems[i], is_held);
      if (!outcome && stops_all_work(outcome.error().code))
        return tl::unexpected<Error>(outcome.error());
      if (is_held) held.push_back(i);
      RetestOutcome line;
      if (outcome) {
        if (!*outcome) continue;
        line = std::move(**outcome);
      } else {
        line.problem = problems[i];
        line.error = outcome.error().what;
      }
      if (callback)
        callback(TuneEvent{problems[i], static_cast<int>(i), static_cast<int>(problems.size()),
                           line.error.empty() ? "retested" : "failed", 0, 0,
                           line.error.empty() ? text_of(line) : line.error});
      summary.problems.push_back(std::move(line));
    }
    waiting = std::move(held);
    return {};
  }

  static std::string text_of(const RetestOutcome& outcome) {
    if (outcome.demoted) return "lost: " + outcome.winner.note;
    return fmt::format("{} {:.3f}x", name(outcome.winner.source), outcome.winner.chained_ratio);
  }

  // What there is to test, if anything: a winner that was not tested before.
  struct Job {
    Winner winner;
    Progress progress;
  };
  Result<std::optional<Job>> job(const Problem& problem) const {
    GEMMSMITH_TRY(const auto winner, store_.winner(run_->environment(), problem));
    GEMMSMITH_TRY(const auto progress, store_.progress(run_->environment(), problem));
    if (!winner || !progress) return std::optional<Job>();
    if (progress->stage == "retested" && !options_.retest_again) return std::optional<Job>();
    return std::optional<Job>(Job{*winner, *progress});
  }

  // Nothing where there is nothing to test, or another process is at the problem.
  Result<std::optional<RetestOutcome>> test(const Problem& problem, bool& is_held) {
    GEMMSMITH_CHECK(check_interrupt());
    GEMMSMITH_TRY(const auto wanted, job(problem));
    if (!wanted) return std::optional<RetestOutcome>();
    GEMMSMITH_TRY(const auto lease, store_.acquire(run_->environment(), problem, options_.lease));
    is_held = !lease;
    if (!lease) return std::optional<RetestOutcome>();
    auto outcome = test(*lease);
    // Given back by finish() where there is an outcome.
    if (!outcome || !*outcome) {
      const auto released = store_.release(*lease);
      if (outcome) GEMMSMITH_CHECK(released);
    }
    return outcome;
  }

  Result<std::optional<RetestOutcome>> test(const Lease& lease) {
    const Problem& problem = lease.problem;
    // It may have been tested between the look and the lease.
    GEMMSMITH_TRY(const auto found, job(problem));
    if (!found) return std::optional<RetestOutcome>();
    GEMMSMITH_TRY(const auto rows, store_.measurements(run_->environment(), problem));
    GEMMSMITH_TRY(const std::vector<Config> configs, to_test(found->winner, rows));
    std::vector<Finalist> tested;
    if (!configs.empty()) {
      GEMMSMITH_TRY(const auto finals, run_->finals(problem, configs, ""));
      tested = finalists(finals);
    }
    RetestOutcome outcome{problem, found->winner, false, {}};
    if (found->winner.source != WinnerSource::kLtTuned) {
      GEMMSMITH_CHECK(judge(outcome, find(tested, found->winner), rows, lease));
    }
    const Progress done{"retested", found->progress.budget, found->progress.vendor_budget};
    GEMMSMITH_CHECK(store_.finish(lease, outcome.winner, done));
    return std::optional<RetestOutcome>(std::move(outcome));
  }

  // The plan itself, and the best of ours and of the vendor's in each setting (the scoreboard's
  // figures), from the finals that chose it: mostly one or two configs.
  Result<std::vector<Config>> to_test(const Winner& winner,
                                      std::span<const StoredMeasurement> rows) const {
    std::vector<std::string> texts;
    if (winner.source != WinnerSource::kLtTuned) texts.push_back(winner.config);
    const std::string chosen_by = last_final_run(rows, RunPurpose::kTune);
    if (!chosen_by.empty()) {
      const std::vector<Measurement> finals = measurements_of(rows, chosen_by);
      for (const Kind kind : {Kind::kKernel, Kind::kVendor})
        for (const Setting setting : {Setting::kChained, Setting::kForeign})
          if (const auto best = best_in(finals, kind, setting)) texts.push_back(best->config);
    }
    std::vector<Config> configs;
    for (const std::string& text : texts) {
      GEMMSMITH_TRY(Config config, parse_config(text, all_families()));
      if (std::find(configs.begin(), configs.end(), config) == configs.end())
        configs.push_back(std::move(config));
    }
    return configs;
  }

  Result<void> judge(RetestOutcome& outcome, const Finalist* finalist,
                     std::span<const StoredMeasurement> rows, const Lease& lease) {
    if (finalist == nullptr)
      return fail(ErrorCode::kInternal, "{}: the bench gave no rows for {}",
                  describe(outcome.problem), outcome.winner.config);
    if (!lost(*finalist)) {
      outcome.winner = winner_of(*finalist, *run_);
      return {};
    }
    GEMMSMITH_TRY(TuningRun* const confirm, confirm_run());
    GEMMSMITH_TRY(const bool held, store_.renew(lease, options_.lease));
    if (!held)
      return fail(ErrorCode::kTimeout, "{}: the lease ran out and another process took over",
                  describe(outcome.problem));
    GEMMSMITH_TRY(const Config config, parse_config(outcome.winner.config, all_families()));
    GEMMSMITH_TRY(const auto finals, confirm->finals(outcome.problem, {config}, ""));
    const std::vector<Finalist> again = finalists(finals);
    const Finalist* const second = find(again, outcome.winner);
    if (second != nullptr && !lost(*second)) {
      outcome.winner = winner_of(*second, *confirm);
      return {};
    }
    const std::string note =
        fmt::format("{} {} lost the re-test twice: {}", name(outcome.winner.source),
                    outcome.winner.config, describe_loss(second != nullptr ? *second : *finalist));
    outcome.winner = lt_tuned_winner(outcome.problem, rows, *confirm, note);
    outcome.demoted = true;
    return {};
  }

  // Made when the first plan needs it: mostly none does.
  Result<TuningRun*> confirm_run() {
    if (!confirm_run_) {
      GEMMSMITH_TRY(confirm_bench_, make_bench_(kConfirmFactor));
      GEMMSMITH_TRY(TuningRun run,
                    TuningRun::start(*confirm_bench_, store_, options_, RunPurpose::kConfirm));
      confirm_run_ = std::make_unique<TuningRun>(std::move(run));
    }
    return confirm_run_.get();
  }

  const BenchFactory& make_bench_;
  Store& store_;
  const TunerOptions& options_;
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<Bench> confirm_bench_;
  TuningRun* run_ = nullptr;
  std::unique_ptr<TuningRun> confirm_run_;
};

}  // namespace

Result<RetestSummary> retest(const BenchFactory& make_bench, Store& store,
                             std::span<const Problem> problems, const TunerOptions& options,
                             const TuneCallback& callback) {
  return Retester(make_bench, store, options).run(problems, callback);
}

}  // namespace gemmsmith
