// gemmsmith tune: the main job. Shapes in; kernels compiled, proved right, timed against the
// vendor's libraries in the same run; the winners stored and tested once more in a fresh process.
#include <cmath>
#include <iostream>
#include <memory>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/bench_session.h"
#include "cli/counted_table.h"
#include "cli/number_options.h"
#include "cli/recorded_scope.h"
#include "cli/store_reading.h"
#include "cli/verb.h"
#include "measure/targets.h"
#include "plan/plan_hints.h"
#include "plan/plan_table.h"
#include "policy/policy_file.h"
#include "report/scoreboard.h"
#include "search/compiler_knobs.h"
#include "search/counting.h"
#include "search/strategy.h"
#include "space/family.h"

namespace gemmsmith::cli {
namespace {

// Far above any space; four times as many are ranked.
constexpr int kMostBudget = 1 << 24;

struct TuneOptions {
  ProblemOptions problem;
  TunerOptions tuner;
  bool dry_run = false;
  bool no_retest = false;
  bool scoreboard = false;
  std::string policy;
  std::string like;  // a plan table
  bool counters = false;
  CountedOptions counted;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A recording offers only what it has: its own configs, in the analytic ranker's spirit of a fixed
// list, so that every strategy searches the recorded space.
Result<std::function<std::vector<Config>(const Problem&)>> recorded_candidates(
    const RecordedDevice& recording) {
  auto by_problem = std::make_shared<std::map<std::string, std::vector<Config>>>();
  for (const Measurement& row : recording.rows()) {
    GEMMSMITH_CHECK(go_on("reading the recording"));
    if (row.kind != Kind::kKernel || row.stage != Stage::kScreen) continue;
    // The semi-final's rows are of the same configs.
    if (row.setting != Setting::kChained) continue;
    GEMMSMITH_TRY(const Config config, parse_config(row.config, kernel_families()));
    if (!has_default_knobs(config)) continue;  // for --compiler-knobs alone
    (*by_problem)[problem_key(row.problem)].push_back(config);
  }
  return [by_problem](const Problem& problem) -> std::vector<Config> {
    const auto found = by_problem->find(problem_key(problem));
    return found == by_problem->end() ? std::vector<Config>{} : found->second;
  };
}

// A policy that cannot be used costs nobody a tuning run: the analytic order takes over.
void take_policy(const std::string& path, TunerOptions& tuner) {
  if (path.empty()) return;
  auto read = policy::read_policy(path);
  if (!read) {
    talk("{}\nthe analytic ranker takes over\n", read.error().what);
    tuner.strategy = "ranked";
    return;
  }
  tuner.policy = std::make_shared<const policy::Network>(std::move(read->network));
  tuner.strategy = "policy";
}

// The kernels of a table's nearest plans are measured first.
Result<void> take_hints(const std::string& path, TunerOptions& tuner) {
  constexpr std::size_t kHints = 64;  // a recording has few of them
  if (path.empty()) return {};
  GEMMSMITH_TRY(plan::PlanTable opened, plan::PlanTable::open(path));
  const auto table = std::make_shared<const plan::PlanTable>(std::move(opened));
  tuner.hints = [table](const Problem& problem, const Target& target) {
    return plan::hinted_configs(*table, problem, target, kHints);
  };
  return {};
}

// What each figure of a row belongs to; --help says it in the same words.
constexpr const char* kFollowerWords =
    "A plan serves everywhere but right behind another kernel of ours, where its follower does, if "
    "it\nhas one. us and the ratios are back to back: the follower's where there is one, else the "
    "plan's;\n'between foreign' (between foreign kernels) is the plan's.";

Result<void> print_results(const Store& store, const Environment& environment,
                           const std::vector<Problem>& problems, bool scoreboard,
                           OutputFormat format) {
  std::vector<Measurement> rows;
  for (const Problem& problem : problems) {
    GEMMSMITH_TRY(const std::vector<StoredMeasurement> stored,
                  store.measurements(environment, problem));
    for (const StoredMeasurement& row : stored) rows.push_back(row.measurement);
  }
  report::Scoreboard board = report::make_scoreboard(rows);
  if (const auto context = context_of(store, environment))
    report::add_floors(board, context->device.target, report::smallest_empty_us(context->runs));
  if (format == OutputFormat::kJson) {
    std::cout << report::to_json(board);
    return {};
  }
  if (format == OutputFormat::kCsv) {
    std::cout << report::to_csv(board);
    return {};
  }
  if (!scoreboard) {
    Table table({"shape", "plan", "follower", "us", "vs lt_tuned", "between foreign", "vs lt_first",
                 "vs cublas", "vs autotune"});
    for (const report::ShapeLine& line : board.shapes) {
      const auto baseline = [&](Kind kind) {
        // ratio of that baseline's time to the served plan's
        const auto found = line.baselines.find(kind);
        return found == line.baselines.end() ? std::nan("") : line.served.chained / found->second;
      };
      table.add({shape_name(line.problem),
                 line.served_kind == Kind::kLtTuned ? "lt_tuned" : line.served.config,
                 line.follower, Cell(line.served.chained_us, 2), Cell(line.served.chained, 3),
                 Cell(line.served.foreign, 3), Cell(baseline(Kind::kLtFirst), 3),
                 Cell(baseline(Kind::kCublas), 3), Cell(baseline(Kind::kCublasAutotune), 3)});
    }
    std::cout << table.render(OutputFormat::kText) << "\n" << kFollowerWords << "\n\n";
  }
  std::cout << report::to_text(board);
  return {};
}

Table dry_run_table() { return Table({"shape", "our configs", "vendor configs"}); }

Table predictions_table() {
  return Table({"shape", "config", "predicted us", "from", "to", "between foreign us",
                "lt_tuned predicted us", "ratio", "ratio from", "ratio to"});
}

// The best that a model predicts for each shape, with the interval that holds 95 % of what the same
// model predicts of a card that was measured.
Result<void> print_predictions(const Store& store, const Environment& environment,
                               const std::vector<Problem>& problems, OutputFormat format) {
  Table table = predictions_table();
  for (const Problem& problem : problems) {
    GEMMSMITH_TRY(const std::vector<StoredMeasurement> stored,
                  store.measurements(environment, problem));
    const Measurement* best = nullptr;
    for (const StoredMeasurement& row : stored) {
      const Measurement& m = row.measurement;
      if (m.kind == Kind::kKernel && m.setting == Setting::kChained && m.status == Status::kOk &&
          (best == nullptr || m.median_us < best->median_us))
        best = &m;
    }
    if (best == nullptr) {
      talk("{}: no kernel of ours is legal for it; gemmsmith space --mnk {} says why\n",
           shape_name(problem), shape_name(problem));
      continue;
    }
    double foreign_us = std::nan("");
    for (const StoredMeasurement& row : stored)
      if (row.measurement.config == best->config && row.measurement.setting == Setting::kForeign)
        foreign_us = row.measurement.median_us;
    table.add({shape_name(problem), best->config, Cell(best->median_us, 2), Cell(best->low_us, 2),
               Cell(best->high_us, 2), Cell(foreign_us, 2), Cell(best->median_us * best->ratio, 2),
               Cell(best->ratio, 3), Cell(best->ratio_low, 3), Cell(best->ratio_high, 3)});
  }
  std::cout << table.render(format);
  if (format == OutputFormat::kText)
    std::cout
        << "\nPredicted, not measured (docs/model_device.md): where to start on such a card.\n";
  return {};
}

// Counts what was chosen among. That it cannot be counted is said, and takes nothing from tuning.
Result<CountSummary> count_after_tuning(const BenchFactory& make_bench, Store& store,
                                        const Environment& environment,
                                        const std::vector<Problem>& problems,
                                        const TunerOptions& tuner, const Session& session) {
  ProgressLine progress("shapes counted", static_cast<std::int64_t>(problems.size()),
                        session.quiet);
  const auto on_event = [&](const TuneEvent& event) {
    progress.update(event.index + 1, shape_name(event.problem) + " " + event.text);
  };
  GEMMSMITH_TRY(CountSummary summary,
                count_finalists(make_bench, store, environment, problems, tuner, on_event));
  if (!summary.unavailable.empty())
    talk("not counted: {}\nwhat was tuned is kept\n", summary.unavailable);
  for (const auto& [reason, launches] : summary.failed)
    talk("{} launch{} not counted: {}\n", launches, launches == 1 ? "" : "es", reason);
  return summary;
}

// For people; for machines there is store counters, as stdout is one table.
Result<void> print_counted(const Store& store, const Environment& environment,
                           const std::vector<Problem>& problems, const CountedView& view,
                           std::int64_t vendor_workspace) {
  GEMMSMITH_TRY(const std::vector<report::CountedConfig> counted,
                read_counted(store, environment, &problems, view, vendor_workspace));
  if (counted.empty()) return {};
  std::cout << '\n';
  if (view.shows_measured())
    std::cout << "Of everything measured, what nothing else beats in all that was asked for.\n";
  if (std::any_of(counted.begin(), counted.end(),
                  [](const report::CountedConfig& config) { return config.is_counted(); })) {
    std::string rules;
    for (const CounterTarget& target : counter_targets())
      rules += fmt::format("{}{} {}", rules.empty() ? "" : ", ", target.key, rule_text(target));
    std::cout << "Counted, each launch alone with L2 empty. Targets: " << rules << ".\n";
  }
  std::cout << counted_table(counted, view, OutputFormat::kText).render(OutputFormat::kText);
  return {};
}

Result<void> check_counting(const TuneOptions& options, const CountedView& view,
                            const std::string& device) {
  if (!options.counters && (view.needs_counting() || !options.counted.reward.empty() ||
                            !options.counted.monitor_policy.empty()))
    return fail(ErrorCode::kBadInput,
                "--reward, --monitor-policy and --objectives, but for time and workspace, look at "
                "what was counted: pass --counters");
  if (options.counters && !is_gpu(device))
    return fail(ErrorCode::kUnsupported,
                "--counters: hardware counters can only come from a GPU, not from a recording or a "
                "model: pass --device cuda:N");
  return {};
}

bool is_model(const std::string& device) { return !is_gpu(device) && !is_recorded(device); }

// Machines get the document that they would get of any shape, without one.
void print_nothing(const TuneOptions& options, const Session& session) {
  if (session.format == OutputFormat::kText) return;
  if (options.dry_run)
    std::cout << dry_run_table().render(session.format);
  else if (is_model(session.settings.value("device")))
    std::cout << predictions_table().render(session.format);
  else
    std::cout << (session.format == OutputFormat::kJson ? report::to_json({}) : report::to_csv({}));
}

Result<int> run(const TuneOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  TunerOptions tuner = options.tuner;
  take_policy(options.policy, tuner);
  GEMMSMITH_CHECK(take_hints(options.like, tuner));
  SearchSpace nothing;
  nothing.policy = tuner.policy;
  GEMMSMITH_CHECK(make_strategy(tuner.strategy, nothing, 0));
  std::vector<Problem> work;
  for (const Problem& problem : problems)
    if (!problem.is_empty() && problem.k > 0) work.push_back(problem);
  if (work.empty()) {
    talk("nothing to tune: every shape has a size of zero\n");
    print_nothing(options, session);
    return 0;
  }
  GEMMSMITH_TRY(const std::int64_t seed, session.settings.integer("seed", 0));
  tuner.seed = static_cast<std::uint64_t>(seed);
  tuner.command = join(session.arguments);
  tuner.wait_for_others = true;  // their shapes are printed too, so they must be done
  // The strategy chooses among four times what it may measure.
  tuner.space_limit = std::max(tuner.space_limit, 4 * tuner.budget);
  const std::string& device = session.settings.value("device");
  GEMMSMITH_TRY(const CountedView view, counted_view(options.counted));
  GEMMSMITH_CHECK(check_counting(options, view, device));
  if (options.dry_run) {
    Table table = dry_run_table();
    for (const Problem& problem : work)
      table.add({shape_name(problem), tuner.budget, tuner.vendor_budget});
    std::cout << table.render(session.format);
    return 0;
  }

  GEMMSMITH_TRY(const std::filesystem::path path, store_path(session));
  GEMMSMITH_TRY(Store store, Store::open(path, Store::Mode::kReadWrite));
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  GEMMSMITH_TRY(std::unique_ptr<Bench> bench, open_bench(device, settings));
  if (const RecordedDevice* recording = recording_of(*bench)) {
    GEMMSMITH_TRY(tuner.candidates, recorded_candidates(*recording));
  }
  if (is_gpu(device)) {
    const Target& target = bench->device().target;
    GEMMSMITH_TRY(const std::string architecture, compile_architecture(target.compute_capability));
    const std::vector<KernelRequest> requests = kernels_to_prepare(work, target, tuner);
    GEMMSMITH_CHECK(go_on("choosing the kernels to compile"));
    GEMMSMITH_TRY(auto compiled, compile_ahead(session, requests, architecture));
    tuner.kernel_hash = kernel_identities(std::move(compiled), architecture);
  }

  int failed = 0;
  bool interrupted_run = false;
  std::vector<Problem> to_print = work;
  {
    ProgressLine progress("shapes", static_cast<std::int64_t>(work.size()), session.quiet);
    const auto on_event = [&](const TuneEvent& event) {
      const bool ended = event.stage == "selected" || event.stage == "skipped";
      progress.update(event.index + (ended ? 1 : 0),
                      fmt::format("{} {} {}", shape_name(event.problem), event.stage, event.text));
    };
    GEMMSMITH_TRY(const TuneSummary summary, tune(*bench, store, work, tuner, on_event));
    interrupted_run = summary.interrupted;
    for (const ProblemOutcome& outcome : summary.problems)
      if (outcome.outcome == Outcome::kFailed) {
        ++failed;
        // Most errors begin with the problem that they are about.
        const std::string problem = describe(outcome.problem) + ": ";
        talk("failed: {}{}\n  repeat with: {}\n", outcome.error.starts_with(problem) ? "" : problem,
             outcome.error, repeat_line(session, "tune", outcome.problem));
      } else if (outcome.outcome == Outcome::kBusy) {
        std::erase(to_print, outcome.problem);
        talk("busy: {}: another process is tuning it\n", describe(outcome.problem));
      }
  }
  const Environment environment = environment_of(*bench);
  bench.reset();  // the re-test is to run in a fresh process, alone on the device
  if (!options.no_retest && !interrupted_run && !is_model(device)) {
    const auto make_bench = [&](int pairs_factor) {
      BenchSettings fresh = settings;
      fresh.final_pairs *= pairs_factor;
      fresh.seed += 1;  // other inputs than the choice was made on
      return open_bench(device, fresh);
    };
    ProgressLine progress("shapes re-tested", static_cast<std::int64_t>(work.size()),
                          session.quiet);
    const auto on_event = [&](const TuneEvent& event) {
      progress.update(event.index + 1, shape_name(event.problem) + " " + event.text);
    };
    GEMMSMITH_TRY(const RetestSummary summary, retest(make_bench, store, work, tuner, on_event));
    interrupted_run = summary.interrupted;
    for (const RetestOutcome& outcome : summary.problems)
      if (outcome.demoted) talk("{}: {}\n", shape_name(outcome.problem), outcome.winner.note);
  }
  if (options.counters && !interrupted_run) {
    const auto make_bench = [&](int) { return open_bench(device, settings); };
    GEMMSMITH_TRY(const CountSummary summary,
                  count_after_tuning(make_bench, store, environment, work, tuner, session));
    interrupted_run = summary.interrupted;
  }
  if (is_model(device)) {
    GEMMSMITH_CHECK(print_predictions(store, environment, to_print, session.format));
  } else {
    GEMMSMITH_CHECK(
        print_results(store, environment, to_print, options.scoreboard, session.format));
  }
  if ((options.counters || view.shows_measured()) && session.format == OutputFormat::kText)
    GEMMSMITH_CHECK(print_counted(store, environment, to_print, view, settings.workspace_bytes));
  if (interrupted_run) {
    talk("interrupted; everything measured is kept in {}; run the same command to go on\n",
         path.string());
    return 130;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

Verb add_tune(CLI::App& parent, Session& session) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* app =
      parent.add_subcommand("tune", "Find, prove and keep the fastest kernel of each shape");
  app->footer(
      "Examples:\n"
      "  gemmsmith tune --mnk 64_4096_64\n"
      "  gemmsmith tune --shapes data/shapes/grid1000.csv --store grid.db\n"
      "  gemmsmith tune --device recorded:data/recordings/h200/grid1000_f16_f32_tn.csv.zst \\\n"
      "                 --shapes data/shapes/demo.csv --store demo.db      (no GPU needed)\n"
      "  gemmsmith tune --device model:a100 --mnk 4096_4096_4096 --store a100.db   (predicted)\n"
      "Stopped at any time, the same command goes on where it stopped.\n" +
      std::string(kFollowerWords) +
      "\n--csv and --json: served_config and served.config are the plan's, served_follower and\n"
      "served.follower the follower's; served_foreign and served.foreign are the plan's figures.");
  options->problem.add_to(*app);
  app->add_option("--strategy", options->tuner.strategy,
                  "random, evolutionary or ranked [evolutionary]");
  app->add_option("--policy", options->policy,
                  "A trained policy (gemmsmith train) that chooses what is measured, ours and "
                  "cuBLASLt's together; instead of --strategy");
  app->add_option(
      "--like", options->like,
      "A plan table whose kernels of the five nearest plans are measured first, whatever "
      "types and layouts they were tuned for; shapes that the store has tuned already "
      "stay as they are");
  add_whole_number(*app, "--budget", options->tuner.budget,
                   "Our configs measured for each shape [40]", 0, kMostBudget);
  add_whole_number(*app, "--vendor-budget", options->tuner.vendor_budget,
                   "cuBLASLt configs measured for each shape [24]", 0, kMostBudget);
  add_whole_number(*app, "--finalists", options->tuner.finalists,
                   "Of our configs, paired in full [2]", 1);
  app->add_flag("--compiler-knobs", options->tuner.compiler_knobs,
                "Also try the compiler's knobs (register usage level, maxrregcount) on the best of "
                "ours: about 15 more kernels to compile for each shape");
  app->add_flag("--counters", options->counters,
                "Then count the finalists' hardware counters, in a process that times nothing, and "
                "judge them (docs/profiling.md)");
  options->counted.add_to(*app);
  app->add_flag("--dry-run", options->dry_run, "Print what would be measured and stop");
  app->add_flag("--no-retest", options->no_retest,
                "Do not pair the winners again in a fresh process");
  app->add_flag("--scoreboard", options->scoreboard, "Print the scoreboard only, not every shape");
  add_setting_options(*app, session,
                      {"device", "store", "seed", "workspace_mib", "compile_threads"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
