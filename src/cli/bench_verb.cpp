// gemmsmith bench: chosen configs against the four baselines, paired in full.
// gemmsmith verify: chosen or ranked configs proved right, no matter how fast.
#include <iostream>
#include <memory>

#include "base/log.h"
#include "cli/bench_session.h"
#include "cli/number_options.h"
#include "cli/recorded_scope.h"
#include "cli/sweep.h"
#include "cli/verb.h"
#include "policy/analytic_ranker.h"

namespace gemmsmith::cli {
namespace {

struct BenchOptions {
  ProblemOptions problem;
  std::vector<std::string> configs;
  int ranked = 0;
  int vendor = 0;
  double require = 0;
};

// The configs named, or the best-ranked ones, that are legal for the problem; on a recorded device
// those that it has from `stage`.
Result<std::vector<Config>> chosen_configs(const BenchOptions& options, Bench& bench,
                                           const Problem& problem, Stage stage,
                                           int default_ranked) {
  std::vector<Config> configs;
  for (const std::string& text : options.configs) {
    GEMMSMITH_TRY(Config config, named_config(text, problem, bench.device().target));
    configs.push_back(std::move(config));
  }
  const int ranked = options.ranked > 0 || !configs.empty() ? options.ranked : default_ranked;
  if (const RecordedDevice* recording = recording_of(bench)) {
    // Without a config that was named, nothing is left to say of a problem that is not there.
    if (configs.empty()) GEMMSMITH_CHECK(recording->check_has(problem));
    for (const auto& [kind, limit] :
         {std::pair(Kind::kKernel, ranked), std::pair(Kind::kVendor, options.vendor)}) {
      GEMMSMITH_TRY(const std::vector<Config> held,
                    recorded_configs(*recording, problem, kind, stage, limit));
      configs.insert(configs.end(), held.begin(), held.end());
    }
    return configs;
  }
  if (ranked > 0)
    for (const Config& config : policy::ranked_configs(problem, bench.device().target, ranked, 2))
      configs.push_back(config);
  if (options.vendor > 0) {
    GEMMSMITH_TRY(const std::vector<Config> vendor, bench.vendor_configs(problem, options.vendor));
    configs.insert(configs.end(), vendor.begin(), vendor.end());
  }
  return configs;
}

// The problems asked for that have anything to multiply.
Result<std::vector<Problem>> problems_with_work(const BenchOptions& options, const char* doing) {
  GEMMSMITH_TRY(std::vector<Problem> problems, options.problem.problems());
  std::erase_if(problems, [](const Problem& p) { return p.is_empty() || p.k == 0; });
  if (problems.empty()) talk("nothing to {}: every shape has a size of zero\n", doing);
  return problems;
}

void add_row(Table& table, const Measurement& row) {
  table.add({shape_name(row.problem), name(row.kind), row.config, name(row.status),
             name(row.setting), name(row.cache), Cell(row.median_us, 3), Cell(row.low_us, 3),
             Cell(row.high_us, 3), Cell(row.ratio, 4), Cell(row.ratio_low, 4),
             Cell(row.ratio_high, 4)});
}

// Before anything is tried on a recording.
void say_scope(const Bench& bench, const std::vector<Problem>& problems, const char* more,
               const Session& session) {
  const RecordedDevice* const recording = recording_of(bench);
  if (recording == nullptr || session.quiet) return;
  talk("{}{}\n", recorded_scope(*recording, session.settings.value("device"), problems), more);
}

// What stands beside a config that a recording does not have.
Result<std::string> held_instead(const Bench& bench, const Measurement& row, Stage stage) {
  const RecordedDevice* const recording = recording_of(bench);
  if (recording == nullptr || row.detail != "no record") return std::string();
  constexpr int kMostNamed = 4;
  GEMMSMITH_TRY(const std::vector<Config> held,
                recorded_configs(*recording, row.problem, row.kind, stage, kMostNamed));
  std::string names;
  for (const Config& config : held) names += (names.empty() ? "" : ", ") + to_text(config);
  return names.empty() ? "; the recording has none of this shape"
                       : "; of this shape the recording has, fastest first: " + names;
}

// Machines get the table's head, people the sentence.
void print_nothing(const Table& table, const Session& session) {
  if (session.format != OutputFormat::kText) std::cout << table.render(session.format);
}

Result<int> run_bench(const BenchOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::vector<Problem> problems, problems_with_work(options, "time"));
  Table table({"shape", "kind", "config", "status", "setting", "cache", "us", "low", "high",
               "ratio", "ratio_low", "ratio_high"});
  if (problems.empty()) {
    print_nothing(table, session);
    return 0;
  }
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                open_bench(session.settings.value("device"), settings));
  say_scope(*bench, problems, "", session);
  int bad = 0;
  const auto measure = [&](const Problem& problem) -> Result<void> {
    GEMMSMITH_TRY(const std::vector<Measurement> baselines, bench->baselines(problem));
    GEMMSMITH_TRY(const std::vector<Config> configs,
                  chosen_configs(options, *bench, problem, Stage::kFinal, 1));
    GEMMSMITH_TRY(const std::vector<Measurement> rows, bench->finals(problem, configs));
    for (const Measurement& row : baselines) add_row(table, row);
    for (const Measurement& row : rows) {
      add_row(table, row);
      const bool slow = options.require > 0 && row.ratio < options.require;
      if (row.status == Status::kOk && !slow) continue;
      ++bad;
      GEMMSMITH_TRY(const std::string instead, held_instead(*bench, row, Stage::kFinal));
      talk("{} {}: {}{}{}\n  repeat with: {}\n", shape_name(problem), row.config,
           row.status != Status::kOk ? name(row.status) : "below the required ratio",
           row.detail.empty() ? "" : ", " + row.detail, instead,
           repeat_line(session, "bench", row.problem, row.config));
    }
    return {};
  };
  GEMMSMITH_TRY(const Sweep done, sweep(problems, measure));
  std::cout << table.render(session.format);
  return end(done, bad > 0);
}

Result<int> run_verify(const BenchOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::vector<Problem> problems, problems_with_work(options, "verify"));
  Table table({"shape", "config", "status", "detail"});
  if (problems.empty()) {
    print_nothing(table, session);
    return 0;
  }
  GEMMSMITH_TRY(BenchSettings settings, bench_settings(session));
  settings.screen_repeats = 1;
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                open_bench(session.settings.value("device"), settings));
  say_scope(*bench, problems,
            "; verify proves nothing there, it repeats what was found when it was recorded",
            session);
  int bad = 0;
  const auto prove = [&](const Problem& problem) -> Result<void> {
    GEMMSMITH_TRY(const std::vector<Config> configs,
                  chosen_configs(options, *bench, problem, Stage::kScreen, 16));
    GEMMSMITH_TRY(const std::vector<Measurement> rows,
                  bench->screen(problem, configs, Setting::kChained));
    for (const Measurement& row : rows) {
      table.add({shape_name(row.problem), row.config, name(row.status), row.detail});
      if (row.status == Status::kOk) continue;
      ++bad;
      GEMMSMITH_TRY(const std::string instead, held_instead(*bench, row, Stage::kScreen));
      talk("{} {}: {} {}{}\n  repeat with: {}\n", shape_name(problem), row.config, name(row.status),
           row.detail, instead, repeat_line(session, "verify", row.problem, row.config));
    }
    return {};
  };
  GEMMSMITH_TRY(const Sweep done, sweep(problems, prove));
  std::cout << table.render(session.format);
  return end(done, bad > 0);
}

void add_common(CLI::App& app, BenchOptions& options, Session& session) {
  options.problem.add_to(app);
  app.add_option("--config", options.configs, "A config, ours or cublaslt:...; may be repeated")
      ->take_all();
  add_whole_number(
      app, "--ranked", options.ranked,
      "Also the N best-ranked of our configs (of a recording: the N fastest that it has)", 0);
  add_whole_number(app, "--vendor", options.vendor, "Also N of cuBLASLt's own configs", 0);
  add_setting_options(app, session, {"device", "seed", "workspace_mib", "compile_threads"});
  add_output_options(app, session);
}

}  // namespace

Verb add_bench(CLI::App& parent, Session& session) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* app = parent.add_subcommand("bench", "Time configs against the four baselines");
  app->footer(
      "Examples:\n"
      "  gemmsmith bench --mnk 4096_4096_4096 --config sm90_ws:w2.m128.n256\n"
      "  gemmsmith bench --mnk 64_64_8192 --ranked 8 --require 1.0");
  add_common(*app, *options, session);
  add_number(*app, "--require", options->require,
             "Exit 1 when a config's ratio to lt_tuned is below this", 0);
  return {app, [options, &session] { return run_bench(*options, session); }};
}

Verb add_verify(CLI::App& parent, Session& session) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* app = parent.add_subcommand("verify", "Prove configs right on a device");
  app->footer(
      "Examples:\n"
      "  gemmsmith verify --mnk 127_65_1000 --ranked 40\n"
      "  gemmsmith verify --shapes data/shapes/ragged.csv --ranked 64 --type bf16");
  add_common(*app, *options, session);
  return {app, [options, &session] { return run_verify(*options, session); }};
}

}  // namespace gemmsmith::cli
