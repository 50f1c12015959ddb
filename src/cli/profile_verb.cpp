// gemmsmith profile: hardware counters of a kernel beside the baseline's, the targets each meets,
// and what limits it. Times and power come from one worker process, counters from another: counting
// slows launches down.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/bench_session.h"
#include "cli/config_choice.h"
#include "cli/l2_check.h"
#include "cli/number_options.h"
#include "cli/profile_table.h"
#include "cli/sweep.h"
#include "cli/verb.h"
#include "vendor/all_families.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::cli {
namespace {

struct ProfileOptions {
  ProblemOptions problem;
  std::vector<std::string> configs;
  std::string choices;
  ConfigsByShape chosen_by_shape;  // what the file `choices` holds
  std::string baseline = "lt_tuned";
  int ranked = 8;
  double seconds = 0.3;
  bool full = false;
  bool l2 = false;
  bool bare = false;

  CounterScope scope() const { return full ? CounterScope::kFull : CounterScope::kStandard; }
};

constexpr double kMostSeconds = 60;

// What is profiled beside ours; nothing for "none".
Result<std::optional<Kind>> baseline_kind(const std::string& text) {
  if (text == "none") return std::nullopt;
  for (const Kind kind : {Kind::kLtTuned, Kind::kLtFirst, Kind::kCublasAutotune, Kind::kCublas})
    if (text == name(kind)) return kind;
  return fail(ErrorCode::kBadInput,
              "--baseline {}: expected lt_tuned, lt_first, cublas_autotune, cublas or none", text);
}

Result<void> check_options(const ProfileOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::optional<Kind> baseline, baseline_kind(options.baseline));
  static_cast<void>(baseline);
  if (options.seconds > kMostSeconds)
    return fail(ErrorCode::kBadInput, "--seconds {:g}: expected at most {:g}", options.seconds,
                kMostSeconds);
  if (options.bare && options.configs.empty() && options.choices.empty())
    return fail(ErrorCode::kBadInput,
                "--bare launches what is named and chooses nothing: name configs with --config or "
                "--choices");
  if (!is_gpu(session.settings.value("device")))
    return fail(ErrorCode::kUnsupported,
                "hardware counters can only come from a GPU, not from a recording or a model: pass "
                "--device cuda:N");
  return {};
}

// The period of an empty kernel in the bench's newest worker; 0 where it does not say.
double empty_kernel_us(const Bench& bench) {
  const auto conditions = nlohmann::json::parse(bench.conditions(), nullptr, false);
  if (!conditions.is_object() || !conditions.contains("workers")) return 0;
  const auto& workers = conditions["workers"];
  if (!workers.is_array() || workers.empty()) return 0;
  return workers.back().value("empty_kernel_us", 0.0);
}

std::vector<std::string> named_texts(const ProfileOptions& options, const Problem& problem) {
  std::vector<std::string> named = options.configs;
  if (const auto found = options.chosen_by_shape.find(shape_name(problem));
      found != options.chosen_by_shape.end())
    named.insert(named.end(), found->second.begin(), found->second.end());
  return named;
}

// What is named for the problems and legal; what is not, the problem's own turn refuses.
std::vector<std::pair<Problem, Config>> named_pairs(const ProfileOptions& options,
                                                    const Bench& bench,
                                                    const std::vector<Problem>& problems) {
  std::vector<std::pair<Problem, Config>> pairs;
  for (const Problem& problem : problems)
    for (const std::string& text : named_texts(options, problem))
      if (auto config = named_config(text, problem, bench.device().target))
        pairs.emplace_back(problem, *std::move(config));
  return pairs;
}

// On every core at once: a worker's bench would compile them one by one, each as it is asked for.
Result<void> compile_kernels(const Session& session, const Bench& bench,
                             std::span<const std::pair<Problem, Config>> wanted) {
  std::vector<KernelRequest> requests;
  std::set<std::string> seen;
  for (const auto& [problem, config] : wanted)
    if (!vendor::is_vendor(config) &&
        seen.insert(kernel_name(config, signature_of(problem))).second)
      requests.push_back({config, signature_of(problem)});
  GEMMSMITH_TRY(const std::string architecture,
                compile_architecture(bench.device().target.compute_capability));
  GEMMSMITH_CHECK(compile_ahead(session, requests, architecture));
  return {};
}

Result<std::vector<Config>> chosen(const ProfileOptions& options, const Session& session,
                                   Bench& bench, const Problem& problem) {
  std::vector<Config> configs;
  for (const std::string& text : named_texts(options, problem)) {
    GEMMSMITH_TRY(Config config, named_config(text, problem, bench.device().target));
    configs.push_back(std::move(config));
  }
  if (!configs.empty()) return configs;
  if (options.bare)
    return fail(ErrorCode::kBadInput, "--bare: no config is named for {}", shape_name(problem));
  GEMMSMITH_TRY(Choice choice, choose_config("", options.ranked, session, bench, problem));
  return std::vector<Config>{std::move(choice.config)};
}

Subject subject_of(const Config& config) {
  return {vendor::is_vendor(config) ? Kind::kVendor : Kind::kKernel, config};
}

// The baseline where nothing is timed: cuBLASLt's algorithms go by their config's text.
Result<Subject> counted_subject(const Measurement& timed) {
  if (timed.kind == Kind::kCublas || timed.kind == Kind::kCublasAutotune)
    return Subject{timed.kind, std::nullopt};
  if (timed.config.empty()) {
    if (timed.kind == Kind::kLtFirst) return Subject{timed.kind, std::nullopt};
    return fail(ErrorCode::kUnsupported,
                "{}: cuBLASLt's algorithm has no text by which another process could run it",
                name(timed.kind));
  }
  GEMMSMITH_TRY(Config config, parse_config(timed.config, all_families()));
  return subject_of(config);
}

// Times, ratio and power of ours and of the baseline.
Result<void> time_problem(const ProfileOptions& options, const Session& session, Bench& bench,
                          const Problem& problem, std::vector<Profile>& profiles) {
  GEMMSMITH_TRY(const std::optional<Kind> kind, baseline_kind(options.baseline));
  GEMMSMITH_TRY(const std::vector<Measurement> baselines, bench.baselines(problem));
  GEMMSMITH_TRY(const std::vector<Config> configs, chosen(options, session, bench, problem));
  GEMMSMITH_TRY(const std::vector<Measurement> finals, bench.finals(problem, configs));
  const auto add = [&](std::string who, const Measurement& timed,
                       const Subject& subject) -> Result<void> {
    Profile profile;
    profile.problem = problem;
    profile.who = std::move(who);
    profile.timed = timed;
    if (timed.status == Status::kOk) {
      GEMMSMITH_TRY(profile.load, bench.sustain(problem, subject, options.seconds));
    }
    profiles.push_back(std::move(profile));
    return {};
  };
  int ours = 0;
  for (const Config& config : configs) {
    ++ours;
    const std::string text = to_text(config);
    const auto row = std::find_if(finals.begin(), finals.end(), [&](const Measurement& m) {
      return m.config == text && m.setting == Setting::kChained;
    });
    if (row == finals.end()) return fail(ErrorCode::kInternal, "no time of {} came back", text);
    GEMMSMITH_CHECK(
        add(ours == 1 ? "ours" : fmt::format("ours {}", ours), *row, subject_of(config)));
  }
  for (const Measurement& row : baselines)
    if (kind && row.kind == *kind)
      GEMMSMITH_CHECK(add(name(*kind), row, Subject{row.kind, std::nullopt}));
  return {};
}

// Fills the counters in, from a bench that times nothing. An Error ends all counting.
Result<void> count_all(const ProfileOptions& options, const Session& session,
                       std::vector<Profile>& profiles) {
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                open_bench(session.settings.value("device"), settings));
  ProgressLine progress("counted", static_cast<std::int64_t>(profiles.size()), session.quiet);
  std::int64_t done = 0;
  for (Profile& profile : profiles) {
    if (interrupted()) return fail(ErrorCode::kInterrupted, "interrupted while counting");
    progress.update(++done, shape_name(profile.problem) + " " + profile.who);
    if (profile.timed.status != Status::kOk) continue;
    auto subject = counted_subject(profile.timed);
    auto counted = subject ? bench->count(profile.problem, *subject, options.scope())
                           : Result<CounterReport>(tl::unexpected(subject.error()));
    if (counted) {
      profile.counted = std::move(*counted);
      continue;
    }
    // What cannot be counted at all ends it; a kernel that cannot costs itself.
    const ErrorCode code = counted.error().code;
    if (code == ErrorCode::kEnvironment || code == ErrorCode::kInterrupted)
      return tl::unexpected<Error>(counted.error());
    profile.counted = CounterReport{};
    profile.counted->status = Status::kLaunch;
    profile.counted->detail = counted.error().what;
  }
  return {};
}

bool is_bad(const Profile& profile) {
  return profile.timed.status != Status::kOk ||
         (profile.counted && profile.counted->status != Status::kOk);
}

Result<int> run_profile(const ProfileOptions& options, const std::vector<Problem>& problems,
                        const Session& session) {
  std::vector<Profile> profiles;
  Target target;
  double empty_us = 0;
  Sweep timed;
  {
    GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
    GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                  open_bench(session.settings.value("device"), settings));
    GEMMSMITH_CHECK(compile_kernels(session, *bench, named_pairs(options, *bench, problems)));
    ProgressLine progress("timed", static_cast<std::int64_t>(problems.size()), session.quiet);
    std::int64_t done = 0;
    GEMMSMITH_TRY(timed, sweep(problems, [&](const Problem& problem) {
                    progress.update(++done, shape_name(problem));
                    return time_problem(options, session, *bench, problem, profiles);
                  }));
    target = bench->device().target;
    empty_us = empty_kernel_us(*bench);
  }
  const Result<void> counted =
      timed.is_interrupted ? Result<void>() : count_all(options, session, profiles);
  int bad = 0;
  for (Profile& profile : profiles) {
    profile.verdict = find_limiter({profile.timed.median_us, empty_us,
                                    profile.counted ? profile.counted->values : CounterValues{},
                                    profile.load, target});
    if (!is_bad(profile)) continue;
    ++bad;
    talk("{} {}: {}{}\n  repeat with: {}\n", shape_name(profile.problem), profile.who,
         profile.timed.status != Status::kOk ? name(profile.timed.status) : "not counted",
         profile.timed.status != Status::kOk ? ", " + profile.timed.detail
                                             : ", " + profile.counted->detail,
         repeat_line(session, "profile", profile.problem, profile.timed.config));
  }
  std::cout << render_profiles(profiles, session.format);
  if (!counted) {
    talk("gemmsmith: {}\n", counted.error().what);
    return exit_code(counted.error().code);
  }
  return end(timed, bad > 0);
}

Table bare_table() { return Table({"shape", "config"}); }

// Launches each config once between cuProfilerStart and cuProfilerStop and prints which.
Result<int> run_bare(const ProfileOptions& options, const std::vector<Problem>& problems,
                     const Session& session) {
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                open_bench(session.settings.value("device"), settings));
  Table table = bare_table();
  GEMMSMITH_TRY(const Sweep done, sweep(problems, [&](const Problem& problem) -> Result<void> {
                  GEMMSMITH_TRY(const std::vector<Config> configs,
                                chosen(options, session, *bench, problem));
                  for (const Config& config : configs) {
                    GEMMSMITH_CHECK(bench->launch_marked(problem, subject_of(config)));
                    table.add({shape_name(problem), to_text(config)});
                  }
                  return {};
                }));
  std::cout << table.render(session.format);
  return end(done, false);
}

Result<int> run_l2(const ProfileOptions& options, const std::vector<Problem>& problems,
                   const Session& session) {
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench,
                open_bench(session.settings.value("device"), settings));
  const Target target = bench->device().target;
  // A third of what is looked at elsewhere: each kernel comes in three orders.
  const int kernels = std::max(1, options.ranked / 3);
  std::vector<std::pair<Problem, Config>> wanted = named_pairs(options, *bench, problems);
  for (const Problem& problem : problems)
    if (named_texts(options, problem).empty())
      for (Config& config : l2_candidates({problem, target}, kernels))
        wanted.emplace_back(problem, std::move(config));
  GEMMSMITH_CHECK(compile_kernels(session, *bench, wanted));
  std::vector<L2Pair> pairs;
  int bad = 0;
  ProgressLine progress("counted", static_cast<std::int64_t>(wanted.size()), session.quiet);
  std::int64_t done_count = 0;
  const auto count_one = [&](const Problem& problem, const Config& config) -> Result<void> {
    progress.update(++done_count, shape_name(problem));
    GEMMSMITH_TRY(const policy::L2Traffic predicted, policy::predict_l2(problem, config, target));
    GEMMSMITH_TRY(const CounterReport report,
                  bench->count(problem, subject_of(config), options.scope()));
    if (report.status == Status::kOk) {
      pairs.push_back({problem, config, predicted, report.values});
      return {};
    }
    ++bad;
    talk("{} {}: {}\n", shape_name(problem), to_text(config), report.detail);
    return {};
  };
  const auto count = [&](const Problem& problem) -> Result<void> {
    // What is named and not legal is an error here; the others were compiled above.
    for (const std::string& text : named_texts(options, problem))
      GEMMSMITH_CHECK(named_config(text, problem, target));
    for (const auto& [of, config] : wanted)
      if (of == problem) GEMMSMITH_CHECK(count_one(problem, config));
    return {};
  };
  GEMMSMITH_TRY(const Sweep done, sweep(problems, count));
  std::cout << l2_pairs_table(pairs).render(session.format);
  talk("{}\n", l2_errors_text(pairs));
  return end(done, bad > 0);
}

Result<int> run(ProfileOptions& options, const Session& session) {
  GEMMSMITH_CHECK(check_options(options, session));
  if (!options.choices.empty()) {
    GEMMSMITH_TRY(options.chosen_by_shape, read_choices(options.choices));
  }
  GEMMSMITH_TRY(std::vector<Problem> problems, options.problem.problems());
  std::erase_if(problems, [](const Problem& p) { return p.is_empty() || p.k == 0; });
  if (problems.empty()) {
    talk("nothing to profile: every shape has a size of zero\n");
    if (session.format != OutputFormat::kText)
      std::cout << (options.bare ? bare_table().render(session.format)
                    : options.l2 ? l2_pairs_table({}).render(session.format)
                                 : render_profiles({}, session.format));
    return 0;
  }
  if (options.bare) return run_bare(options, problems, session);
  if (options.l2) return run_l2(options, problems, session);
  return run_profile(options, problems, session);
}

}  // namespace

Verb add_profile(CLI::App& parent, Session& session) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* app = parent.add_subcommand(
      "profile", "Hardware counters of a kernel beside the baseline's, and what limits it");
  app->footer(
      "Examples:\n"
      "  gemmsmith profile --mnk 4096_4096_4096\n"
      "  gemmsmith profile --shapes list.csv --baseline cublas --full --csv\n"
      "  gemmsmith profile --mnk 8192_8192_8192 --l2\n"
      "Ours is the config given, else the store's winner for this device, else the fastest of the\n"
      "best-ranked. Counters need permission: docs/profiling.md.");
  options->problem.add_to(*app);
  app->add_option("--config", options->configs, "A config, ours or cublaslt:...; may be repeated")
      ->take_all();
  app->add_option("--choices", options->choices,
                  "A CSV with columns shape and config: what to profile of each shape");
  app->add_option("--baseline", options->baseline,
                  "lt_tuned, lt_first, cublas_autotune, cublas or none [lt_tuned]");
  add_whole_number(*app, "--ranked", options->ranked, "Choose among the N best-ranked configs [8]",
                   1);
  add_number(*app, "--seconds", options->seconds, "Of running on for power and clocks [0.3]", 0);
  app->add_flag("--full", options->full,
                "More passes: exact SM throughput, spills, reasons of stalls");
  auto* l2 = app->add_flag("--l2", options->l2,
                           "Hold the L2 model against the counters, several tile orders a shape");
  app->add_flag("--bare", options->bare,
                "Only launch each config once, marked for a profiler outside (ncu "
                "--profile-from-start off)")
      ->excludes(l2);
  add_setting_options(*app, session,
                      {"device", "store", "seed", "workspace_mib", "compile_threads"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
