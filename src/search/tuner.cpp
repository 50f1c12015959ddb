#include "search/tuner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/interrupt.h"
#include "policy/tile_orders.h"
#include "search/compiler_knobs.h"
#include "search/selection.h"
#include "search/strategy.h"
#include "search/tuning.h"
#include "vendor/all_families.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

// The settings differ by a few microseconds at a launch's ends: from here on they agree, and the
// semi-final would cost more than it can tell.
constexpr double kSettingsAgreeUs = 1000;
// From here on the order of tiles decides how much of the operands L2 still has.
constexpr double kOrdersMatterUs = 80;

// A policy chooses among this many times the vendor configs that it may measure.
constexpr int kVendorChoice = 4;

Kind kind_of(const Config& config) {
  return vendor::is_vendor(config) ? Kind::kVendor : Kind::kKernel;
}

// A killed run loses the clock and power notes of at most this many problems.
constexpr int kConditionsEvery = 20;

bool covers(const Progress& done, const TunerOptions& wanted) {
  return (done.stage == "selected" || done.stage == "retested") && done.budget >= wanted.budget &&
         done.vendor_budget >= wanted.vendor_budget;
}

// Tuning of one problem under its lease.
class ProblemTuner {
 public:
  ProblemTuner(TuningRun& run, Lease lease, const TuneCallback& callback, int index, int total)
      : run_(run), lease_(std::move(lease)), callback_(callback), index_(index), total_(total) {}

  Result<void> work() {
    GEMMSMITH_TRY(rows_, run_.store().measurements(run_.environment(), problem()));
    GEMMSMITH_CHECK(measure_baselines());
    GEMMSMITH_CHECK(screen_ours());
    GEMMSMITH_CHECK(screen_twins());
    GEMMSMITH_CHECK(screen_vendor());
    GEMMSMITH_CHECK(semifinal());
    GEMMSMITH_TRY(std::vector<Measurement> finals, measure_finals());
    if (options().compiler_knobs) {
      GEMMSMITH_TRY(finals, turn_knobs(std::move(finals)));
    }
    return decide(finals);
  }

 private:
  const Problem& problem() const { return lease_.problem; }
  const TunerOptions& options() const { return run_.options(); }

  // Before each bench call: has the user stopped us, has another process taken over? (The winner is
  // written under the lease's token, so a loss seen late costs work, not results.)
  Result<void> may_go_on() {
    GEMMSMITH_CHECK(check_interrupt());
    // A renewal is a commit, and the disk's time is the GPU's time here.
    if (Clock::now() - renewed_ < options().lease / 4) return {};
    GEMMSMITH_TRY(const bool held, run_.store().renew(lease_, options().lease));
    renewed_ = Clock::now();
    if (!held)
      return fail(ErrorCode::kTimeout, "{}: the lease ran out and another process took over",
                  describe(problem()));
    return {};
  }

  void report(const char* stage, std::string text = {}) {
    if (callback_)
      callback_(TuneEvent{problem(), index_, total_, stage, measured_,
                          options().budget + options().vendor_budget, std::move(text)});
  }

  Result<void> keep(std::vector<Measurement>& rows, const char* stage) {
    GEMMSMITH_CHECK(run_.record(problem(), rows, stage));
    remember(rows);
    return {};
  }

  void remember(const std::vector<Measurement>& rows) {
    for (const Measurement& row : rows)
      rows_.push_back({run_.environment(), run_.kernel_hash(row.config, row.kind, problem()), row});
  }

  Result<void> measure_baselines() {
    if (lt_tuned() == nullptr) {
      GEMMSMITH_CHECK(may_go_on());
      GEMMSMITH_TRY(std::vector<Measurement> rows, run_.bench().baselines(problem()));
      GEMMSMITH_CHECK(keep(rows, "baselines"));
    }
    report("baselines");
    return {};
  }

  // Measured with the kernel that the config means today.
  bool is_todays(const StoredMeasurement& row) const {
    const Measurement& m = row.measurement;
    return row.kernel_hash == run_.kernel_hash(m.config, m.kind, problem());
  }

  // The screening row of a config, if the same kernel was measured before.
  const Measurement* screened(const Config& config, Setting setting) const {
    const Kind kind = kind_of(config);
    const std::string text = to_text(config);
    const std::string hash = run_.kernel_hash(text, kind, problem());
    for (const StoredMeasurement& row : rows_) {
      const Measurement& m = row.measurement;
      if (m.stage == Stage::kScreen && m.setting == setting && m.kind == kind && m.config == text &&
          row.kernel_hash == hash)
        return &m;
    }
    return nullptr;
  }

  // Measures those of a round that have no row yet; every one of them has a row afterwards.
  Result<void> screen(std::span<const Config> round, Setting setting, const char* stage) {
    std::vector<Config> unknown;
    for (const Config& config : round)
      if (screened(config, setting) == nullptr) unknown.push_back(config);
    if (!unknown.empty()) {
      GEMMSMITH_CHECK(may_go_on());
      GEMMSMITH_TRY(std::vector<Measurement> rows,
                    run_.bench().screen(problem(), unknown, setting));
      if (rows.size() != unknown.size())
        return fail(ErrorCode::kInternal, "{}: the bench gave {} screening rows for {} configs",
                    describe(problem()), rows.size(), unknown.size());
      // A row answers for the config that was asked, whatever text the bench gave it.
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].config = to_text(unknown[i]);
        rows[i].kind = kind_of(unknown[i]);
        rows[i].stage = Stage::kScreen;
        rows[i].setting = setting;
      }
      GEMMSMITH_CHECK(keep(rows, stage));
    }
    if (setting == Setting::kChained) measured_ += static_cast<int>(round.size());
    report(stage);
    return {};
  }

  // With a policy the vendor's configs are in the same space, several times what may be measured.
  Result<SearchSpace> search_space() {
    const Target& target = run_.bench().device().target;
    Candidates candidates = candidate_configs(problem(), target, options());
    SearchSpace space{problem(),        target,           std::move(candidates.configs),
                      candidates.hints, options().budget, options().policy};
    if (options().policy == nullptr || options().vendor_budget <= 0) return space;
    GEMMSMITH_CHECK(may_go_on());
    GEMMSMITH_TRY(const std::vector<Config> vendor,
                  run_.bench().vendor_configs(problem(), kVendorChoice * options().vendor_budget));
    space.configs.insert(space.configs.end(), vendor.begin(), vendor.end());
    space.budget += options().vendor_budget;
    return space;
  }

  Result<void> screen_ours() {
    GEMMSMITH_TRY(const SearchSpace space, search_space());
    // Each problem its own sequence, the same however many problems are tuned around it.
    const std::uint64_t seed = options().seed ^ hash64(problem_key(problem()));
    GEMMSMITH_TRY(const auto strategy, make_strategy(options().strategy, space, seed));
    int left = space.budget;
    while (left > 0) {
      const std::vector<Config> round = strategy->ask(std::min(options().round, left));
      if (round.empty()) break;
      GEMMSMITH_CHECK(screen(round, Setting::kChained, "screen"));
      for (const Config& config : round)
        strategy->tell(config, *screened(config, Setting::kChained));
      left -= static_cast<int>(round.size());
    }
    return {};
  }

  // The same config started in the other ways there are: without programmatic dependent launch, or
  // with it and asking L2 for its operands early or not. Only what the space has.
  std::vector<Config> twins_of(const Config& config) const {
    if (config.family->index_of("pdl") < 0) return {};
    const SpaceContext context{problem(), run_.bench().device().target};
    std::vector<Config> offered;
    if (options().candidates) offered = options().candidates(problem());
    std::vector<Config> twins;
    for (const auto& [pdl, prefetch] : {std::pair{0, 0}, {1, 0}, {1, 1}, {1, 2}}) {
      Config twin = config;
      twin.set("pdl", pdl);
      twin.set("prefetch", prefetch);
      if (twin == config || broken_rule(context, twin) != nullptr) continue;
      if (prefetch != 0 && !settings_differ()) continue;  // first loads are little of it
      if (options().candidates && std::find(offered.begin(), offered.end(), twin) == offered.end())
        continue;
      twins.push_back(std::move(twin));
    }
    return twins;
  }

  // The same kernel in the tile orders that the L2 model expects to move much less memory, of those
  // that the space has: where it is right they gain a percent (docs/experiments.md, 20).
  std::vector<Config> orders_of(const Config& config) const {
    constexpr double kMuchLess = 0.85;
    constexpr std::size_t kMost = 2;
    std::vector<Config> orders =
        policy::quieter_orders(config, {problem(), run_.bench().device().target}, kMuchLess, kMost);
    if (!options().candidates) return orders;
    const std::vector<Config> offered = options().candidates(problem());
    std::erase_if(orders, [&](const Config& order) {
      return std::find(offered.begin(), offered.end(), order) == offered.end();
    });
    return orders;
  }

  // Programmatic dependent launch gains up to 1 us where a kernel follows itself and costs 0.2 us
  // where it follows another, and asking L2 early gains or loses a tenth (docs/experiments.md, 7
  // and 16): so the favourites are also tried the other ways.
  Result<void> screen_twins() {
    std::vector<Config> twins;
    const auto add = [&](std::vector<Config> more) {
      for (Config& twin : more)
        if (std::find(twins.begin(), twins.end(), twin) == twins.end())
          twins.push_back(std::move(twin));
    };
    for (const Config& config : best_screened(Kind::kKernel, twin_count())) {
      add(twins_of(config));
      if (moves_memory()) add(orders_of(config));
    }
    if (twins.empty()) return {};
    return screen(twins, Setting::kChained, "screen");
  }

  // Long enough, and large enough for L2 not to hold all of it.
  bool moves_memory() const {
    const Measurement* const baseline = lt_tuned();
    return baseline != nullptr && baseline->median_us >= kOrdersMatterUs;
  }

  int twin_count() const { return (options().semifinalists + 1) / 2; }

  Result<void> screen_vendor() {
    if (options().vendor_budget <= 0 || options().policy != nullptr) return {};
    GEMMSMITH_CHECK(may_go_on());
    GEMMSMITH_TRY(const std::vector<Config> configs,
                  run_.bench().vendor_configs(problem(), options().vendor_budget));
    return screen_all(configs, "vendor");
  }

  // Back to back, in rounds.
  Result<void> screen_all(std::span<const Config> all, const char* stage) {
    const auto round = static_cast<std::size_t>(std::max(options().round, 1));
    for (std::size_t first = 0; first < all.size(); first += round)
      GEMMSMITH_CHECK(screen(all.subspan(first, std::min(round, all.size() - first)),
                             Setting::kChained, stage));
    return {};
  }

  // The favourites once more, between foreign kernels: programmatic dependent launch makes some
  // look good only where they follow themselves.
  Result<void> semifinal() {
    if (!settings_differ()) return {};
    std::vector<Config> favourites = favourites_of(Kind::kKernel, options().semifinalists);
    const std::vector<Config> vendor = favourites_of(Kind::kVendor, options().vendor_semifinalists);
    favourites.insert(favourites.end(), vendor.begin(), vendor.end());
    if (favourites.empty()) return {};
    return screen(favourites, Setting::kForeign, "semifinal");
  }

  // Short problems, whose launches are a good part of their time.
  bool settings_differ() const {
    const Measurement* const baseline = lt_tuned();
    return baseline != nullptr && baseline->median_us <= kSettingsAgreeUs;
  }

  const Measurement* lt_tuned() const {
    for (const StoredMeasurement& row : rows_)
      if (row.measurement.kind == Kind::kLtTuned && row.measurement.status == Status::kOk)
        return &row.measurement;
    return nullptr;
  }

  std::vector<Config> finalists_of(Kind kind, int semifinalists, int count) const {
    std::vector<Contender> contenders;
    std::vector<Contender> chained_only;
    for (const Config& config : favourites_of(kind, std::max(semifinalists, count))) {
      const double chained = screened(config, Setting::kChained)->ratio;
      const Measurement* const foreign = screened(config, Setting::kForeign);
      chained_only.push_back({to_text(config), chained, chained});
      if (foreign != nullptr && foreign->status == Status::kOk)
        contenders.push_back({to_text(config), chained, foreign->ratio});
    }
    // Nobody was seen between foreign kernels: a long problem, or a recording that lacks this.
    if (contenders.empty()) contenders = std::move(chained_only);
    std::vector<Config> configs;
    for (const std::string& text : choose_finalists(contenders, count, kind == Kind::kKernel))
      if (const auto config = parse_config(text, all_families())) configs.push_back(*config);
    return configs;
  }

  // Who enters the semi-final: the best back to back, and the twins of the best of them, which are
  // slower there by design.
  std::vector<Config> favourites_of(Kind kind, int count) const {
    std::vector<Config> favourites = best_screened(kind, count);
    const auto best = std::min(favourites.size(), static_cast<std::size_t>(twin_count()));
    for (std::size_t i = 0; kind == Kind::kKernel && i < best; ++i) {
      for (const Config& twin : twins_of(favourites[i])) {
        // The others are as fast back to back as they will ever be: the best of them are here.
        if (twin.at("pdl") == 1 ||
            std::find(favourites.begin(), favourites.end(), twin) != favourites.end())
          continue;
        const Measurement* const row = screened(twin, Setting::kChained);
        if (row != nullptr && row->status == Status::kOk) favourites.push_back(twin);
      }
    }
    return favourites;
  }

  // The best screened configs of a kind, back to back. Turned knobs have a round of their own.
  std::vector<Config> best_screened(Kind kind, int count) const {
    std::vector<const Measurement*> found;
    for (const StoredMeasurement& row : rows_) {
      const Measurement& m = row.measurement;
      if (m.stage == Stage::kScreen && m.setting == Setting::kChained && m.kind == kind &&
          m.status == Status::kOk && is_todays(row))
        found.push_back(&m);
    }
    std::stable_sort(found.begin(), found.end(), [](const Measurement* a, const Measurement* b) {
      if (a->ratio != b->ratio) return a->ratio > b->ratio;
      if (a->median_us != b->median_us) return a->median_us < b->median_us;
      return a->config < b->config;
    });
    std::vector<Config> configs;
    for (const Measurement* row : found) {
      if (static_cast<int>(configs.size()) >= count) break;
      const auto config = parse_config(row->config, all_families());
      if (config && has_default_knobs(*config) &&
          std::find(configs.begin(), configs.end(), *config) == configs.end())
        configs.push_back(*config);
    }
    return configs;
  }

  Result<std::vector<Measurement>> measure_finals() {
    std::vector<Config> chosen =
        finalists_of(Kind::kKernel, options().semifinalists, options().finalists);
    const std::vector<Config> vendor =
        finalists_of(Kind::kVendor, options().vendor_semifinalists, options().vendor_finalists);
    chosen.insert(chosen.end(), vendor.begin(), vendor.end());
    if (chosen.empty()) return std::vector<Measurement>();
    return paired(chosen, "finals");
  }

  // Final-stage rows of one run that has paired all of these configs: the last one's, if it has (a
  // run killed between the finals and the decision left them whole: each call is one transaction),
  // else this one's. What rows say of a kernel that has changed since is not about today's.
  Result<std::vector<Measurement>> paired(const std::vector<Config>& chosen, const char* stage) {
    const std::string last = last_final_run(rows_, RunPurpose::kTune);
    std::vector<Measurement> rows = finals_of(last);
    std::vector<Config> missing = without_finalists(chosen, rows);
    if (missing.empty()) return rows;
    if (last != run_.id()) missing = chosen;
    GEMMSMITH_CHECK(may_go_on());
    report(stage);
    GEMMSMITH_TRY(rows, run_.finals(problem(), missing, stage));
    remember(rows);
    return finals_of(run_.id());
  }

  std::vector<Measurement> finals_of(const std::string& run) const {
    std::vector<Measurement> rows;
    for (const StoredMeasurement& row : rows_)
      if (row.measurement.stage == Stage::kFinal && row.measurement.run == run && is_todays(row))
        rows.push_back(row.measurement);
    return rows;
  }

  static std::vector<Config> without_finalists(std::vector<Config> configs,
                                               std::span<const Measurement> rows) {
    std::set<std::string> measured;
    for (const Finalist& finalist : finalists(rows)) measured.insert(finalist.config);
    std::erase_if(configs,
                  [&](const Config& config) { return measured.count(to_text(config)) != 0; });
    return configs;
  }

  // The best of ours with one compiler knob turned: screened, and as many paired in full as there
  // are finalists of ours. A variant that compiles to a spill or that a recording lacks fails as
  // any candidate does. `finals` are those that there were, with the variants' beside them.
  Result<std::vector<Measurement>> turn_knobs(std::vector<Measurement> finals) {
    const std::optional<Config> base = best_of_ours(finals);
    if (!base) return finals;
    std::vector<Config> variants =
        legal_knob_variants(*base, problem(), run_.bench().device().target);
    GEMMSMITH_CHECK(screen_all(variants, "knobs"));
    std::erase_if(variants, [&](const Config& variant) {
      return screened(variant, Setting::kChained)->status != Status::kOk;
    });
    std::stable_sort(variants.begin(), variants.end(), [&](const Config& a, const Config& b) {
      return screened(a, Setting::kChained)->ratio > screened(b, Setting::kChained)->ratio;
    });
    if (variants.empty()) return finals;
    const auto most = static_cast<std::size_t>(options().finalists);
    if (variants.size() > most) variants.resize(most);
    // One run's finals, so that re-test and scoreboard see the whole choice.
    for (const Finalist& finalist : finalists(finals)) {
      const auto config = parse_config(finalist.config, all_families());
      if (config && std::find(variants.begin(), variants.end(), *config) == variants.end())
        variants.push_back(*config);
    }
    return paired(variants, "knobs");
  }

  // The kernel that would be selected, else the best that ran without fault; with plain knobs.
  static std::optional<Config> best_of_ours(std::span<const Measurement> finals) {
    std::vector<Measurement> plain;
    for (const Measurement& row : finals) {
      const auto config = parse_config(row.config, all_families());
      if (row.kind == Kind::kKernel && config && has_default_knobs(*config)) plain.push_back(row);
    }
    std::optional<Finalist> best = select(plain);
    if (!best) best = best_of(plain, Kind::kKernel);
    if (!best) return std::nullopt;
    return *parse_config(best->config, all_families());
  }

  Result<void> decide(const std::vector<Measurement>& finals) {
    const std::optional<Finalist> best = select(finals);
    const Winner winner =
        best ? winner_of(*best, run_) : lt_tuned_winner(problem(), rows_, run_, std::string());
    GEMMSMITH_CHECK(run_.store().finish(
        lease_, winner, Progress{"selected", options().budget, options().vendor_budget}));
    report("selected",
           best ? fmt::format("{} {} {:.3f}x, between foreign kernels {:.3f}x", name(winner.source),
                              winner.config, winner.chained_ratio, winner.foreign_ratio)
                : std::string("lt_tuned"));
    return {};
  }

  using Clock = std::chrono::steady_clock;

  TuningRun& run_;
  Lease lease_;
  Clock::time_point renewed_ = Clock::now();
  const TuneCallback& callback_;
  int index_;
  int total_;
  int measured_ = 0;
  std::vector<StoredMeasurement> rows_;
};

class Tuner {
 public:
  Tuner(TuningRun run, std::span<const Problem> problems, const TuneCallback& callback)
      : run_(std::move(run)), problems_(problems), callback_(callback) {}

  Result<TuneSummary> tune_all() {
    std::map<std::size_t, ProblemOutcome> outcomes;
    std::vector<std::size_t> busy;
    auto result = pass(every_index(), outcomes, busy);
    // What another process held at first may be done or abandoned by now.
    while (result && !busy.empty()) {
      std::vector<std::size_t> still_busy;
      result = pass(busy, outcomes, still_busy);
      if (!run_.options().wait_for_others) break;
      if (result && still_busy.size() == busy.size()) result = wait_for_others();
      busy = std::move(still_busy);
    }
    TuneSummary summary;
    summary.run = run_.id();
    summary.interrupted = !result && result.error().code == ErrorCode::kInterrupted;
    if (!result && !summary.interrupted) return tl::unexpected<Error>(result.error());
    for (auto& [index, outcome] : outcomes) summary.problems.push_back(std::move(outcome));
    GEMMSMITH_CHECK(run_.keep_conditions());
    return summary;
  }

 private:
  std::vector<std::size_t> every_index() const {
    std::vector<std::size_t> indices(problems_.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
  }

  Result<void> pass(const std::vector<std::size_t>& indices,
                    std::map<std::size_t, ProblemOutcome>& outcomes,
                    std::vector<std::size_t>& busy) {
    int since_conditions = 0;
    for (const std::size_t index : indices) {
      GEMMSMITH_CHECK(check_interrupt());
      GEMMSMITH_TRY(ProblemOutcome outcome, tune_one(index));
      if (outcome.outcome == Outcome::kBusy) busy.push_back(index);
      if (outcome.outcome == Outcome::kTuned && ++since_conditions == kConditionsEvery) {
        since_conditions = 0;
        GEMMSMITH_CHECK(run_.keep_conditions());
      }
      // Once is enough for what another process holds.
      if (outcome.outcome != Outcome::kBusy || outcomes.count(index) == 0) report(index, outcome);
      outcomes[index] = std::move(outcome);
    }
    return {};
  }

  Result<bool> is_done(const Problem& problem) {
    GEMMSMITH_TRY(const auto progress, run_.store().progress(run_.environment(), problem));
    if (!progress || !covers(*progress, run_.options())) return false;
    GEMMSMITH_TRY(const auto winner, run_.store().winner(run_.environment(), problem));
    if (!winner || !is_todays(*winner)) return false;
    if (!run_.options().compiler_knobs) return true;
    GEMMSMITH_TRY(const auto rows, run_.store().measurements(run_.environment(), problem));
    return knobs_were_tried(measurements_of(rows), problem, run_.bench().device().target);
  }

  // A kernel that has changed since it won is to be measured again. Where no identities are kept,
  // as with a recording, a winner stands.
  bool is_todays(const Winner& winner) const {
    if (winner.source != WinnerSource::kKernel || !run_.options().kernel_hash) return true;
    return winner.kernel_hash == run_.kernel_hash(winner.config, Kind::kKernel, winner.problem);
  }

  // An error is one that stops all work.
  Result<ProblemOutcome> tune_one(std::size_t index) {
    const Problem& problem = problems_[index];
    if (problem.is_empty()) return ProblemOutcome{problem, Outcome::kEmpty, {}};
    GEMMSMITH_TRY(const bool done, is_done(problem));
    if (done) return ProblemOutcome{problem, Outcome::kAlreadyDone, {}};
    GEMMSMITH_TRY(const auto lease,
                  run_.store().acquire(run_.environment(), problem, run_.options().lease));
    if (!lease) return ProblemOutcome{problem, Outcome::kBusy, {}};
    // It may have been finished between the look and the lease.
    GEMMSMITH_TRY(const bool done_meanwhile, is_done(problem));
    if (done_meanwhile) {
      GEMMSMITH_CHECK(run_.store().release(*lease));
      return ProblemOutcome{problem, Outcome::kAlreadyDone, {}};
    }
    const auto result = ProblemTuner(run_, *lease, callback_, static_cast<int>(index),
                                     static_cast<int>(problems_.size()))
                            .work();
    if (result) return ProblemOutcome{problem, Outcome::kTuned, {}};
    const auto released = run_.store().release(*lease);
    if (stops_all_work(result.error().code)) return tl::unexpected<Error>(result.error());
    GEMMSMITH_CHECK(released);
    return ProblemOutcome{problem, Outcome::kFailed, result.error().what};
  }

  void report(std::size_t index, const ProblemOutcome& outcome) {
    if (!callback_ || outcome.outcome == Outcome::kTuned) return;
    const bool failed = outcome.outcome == Outcome::kFailed;
    callback_(TuneEvent{outcome.problem, static_cast<int>(index),
                        static_cast<int>(problems_.size()), failed ? "failed" : "skipped", 0, 0,
                        failed ? outcome.error : name(outcome.outcome)});
  }

  TuningRun run_;
  std::span<const Problem> problems_;
  const TuneCallback& callback_;
};

}  // namespace

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kTuned:
      return "tuned";
    case Outcome::kAlreadyDone:
      return "done";
    case Outcome::kEmpty:
      return "empty";
    case Outcome::kBusy:
      return "busy";
    case Outcome::kFailed:
      return "failed";
  }
  return "?";
}

int TuneSummary::count(Outcome outcome) const {
  return static_cast<int>(
      std::count_if(problems.begin(), problems.end(),
                    [&](const ProblemOutcome& problem) { return problem.outcome == outcome; }));
}

Result<TuneSummary> tune(Bench& bench, Store& store, std::span<const Problem> problems,
                         const TunerOptions& options, const TuneCallback& callback) {
  // Refuse a wrong name before anything is measured.
  SearchSpace nothing;
  nothing.policy = options.policy;
  GEMMSMITH_CHECK(make_strategy(options.strategy, nothing, 0));
  GEMMSMITH_TRY(TuningRun run, TuningRun::start(bench, store, options, RunPurpose::kTune));
  return Tuner(std::move(run), problems, callback).tune_all();
}

std::vector<KernelRequest> kernels_to_prepare(std::span<const Problem> problems,
                                              const Target& target, const TunerOptions& options) {
  std::vector<KernelRequest> requests;
  std::set<std::string> seen;
  for (const Problem& problem : problems) {
    if (interrupted()) break;
    if (problem.is_empty()) continue;
    for (Config& config : candidate_configs(problem, target, options).configs) {
      const Signature signature = signature_of(problem);
      if (!seen.insert(kernel_name(config, signature)).second) continue;
      for (std::size_t i = 0; i < config.values.size(); ++i)
        if (config.family->parameters[i].binding == Binding::kLaunch)
          config.values[i] = config.family->parameters[i].default_value;
      requests.push_back({std::move(config), signature});
    }
  }
  return requests;
}

}  // namespace gemmsmith
