// gemmsmith eval: the classical check of one shape. Is our kernel right, how long does it take
// against the four baselines (offline), and what latency does it give under load (server)?
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/log.h"
#include "base/progress.h"
#include "cli/bench_session.h"
#include "cli/config_choice.h"
#include "cli/number_options.h"
#include "cli/sweep.h"
#include "cli/verb.h"

namespace gemmsmith::cli {
namespace {

// More requests than this would only fill memory: percentiles are sharp long before.
constexpr double kMostRequests = 2e7;

struct EvalOptions {
  ProblemOptions problem;
  std::string mode = "offline";
  std::string config;
  int ranked = 8;
  ServeSettings serve;
};

// The verdict on ours, as cells of its row and as a reason where it is bad.
struct Verdict {
  double relative_error = std::nan("");
  double bound_ratio = std::nan("");
  std::string norm_check;
  std::string fp64_check;
  std::string why_bad;  // empty: nothing is wrong

  void fill(const Problem& problem, const AccuracyReport& report) {
    relative_error = report.relative_error;
    bound_ratio = report.bound_ratio;
    norm_check = !passes_norm(problem, report) ? "fail"
                 : norm_is_barred(problem)     ? "pass"
                                               : "no bar";
    fp64_check = passes_bound(report) ? "pass" : "fail";
    if (is_accurate(problem, report)) return;
    why_bad = report.detail;
    if (why_bad.empty())
      why_bad = fmt::format("relative error {:.3g} (bar {:g}), {:.3g} of the FP64 bound",
                            relative_error, kMaxRelativeError, bound_ratio);
  }
};

Result<Verdict> judge(Bench& bench, const Session& session, const Problem& problem,
                      const Config& config, const Measurement& measured) {
  Verdict verdict;
  if (measured.status != Status::kOk) {
    verdict.why_bad = std::string(name(measured.status)) +
                      (measured.detail.empty() ? "" : ", " + measured.detail);
    // What never ran to its end has no result to compare.
    const Status ran[] = {Status::kWrong, Status::kNondeterministic, Status::kFloor};
    if (std::find(std::begin(ran), std::end(ran), measured.status) == std::end(ran)) {
      verdict.norm_check = verdict.fp64_check = "fail";
      return verdict;
    }
  }
  if (is_recorded(session.settings.value("device"))) {
    verdict.norm_check = verdict.fp64_check = "not recorded";
    return verdict;
  }
  GEMMSMITH_TRY(const AccuracyReport report, bench.accuracy(problem, config));
  verdict.fill(problem, report);
  return verdict;
}

void complain(const EvalOptions& options, const Session& session, const Problem& problem,
              const Config& config, const std::string& why) {
  talk("{} {}: {}\n  repeat with: {}\n", shape_name(problem), to_text(config), why,
       repeat_line(session, "eval --mode " + options.mode, problem, to_text(config)));
}

// A time of the row, or NaN where it has none.
Cell time_cell(const Measurement& row, double us) {
  return {row.status == Status::kOk ? us : std::nan(""), 3};
}

// How many times faster ours is: from ratios that were both paired with lt_tuned.
double gain(const Measurement& ours, const Measurement& baseline) {
  if (ours.status != Status::kOk || baseline.status != Status::kOk) return std::nan("");
  return ours.ratio / baseline.ratio;
}

// True where ours is right.
Result<bool> offline(const EvalOptions& options, const Session& session, Bench& bench,
                     const Problem& problem, const Choice& choice, Table& table) {
  GEMMSMITH_TRY(const std::vector<Measurement> chained, bench.baselines(problem));
  const auto foreign = bench.foreign_baselines(problem);
  if (!foreign && foreign.error().code != ErrorCode::kUnsupported)
    return tl::unexpected<Error>(foreign.error());
  GEMMSMITH_TRY(const std::vector<Measurement> ours,
                bench.finals(problem, std::span(&choice.config, 1)));
  const Measurement& worse = ours[0].status != Status::kOk ? ours[0] : ours[1];
  GEMMSMITH_TRY(const Verdict verdict, judge(bench, session, problem, choice.config, worse));

  const double none = std::nan("");
  table.add({shape_name(problem), "ours", ours[0].config, choice.source, name(worse.status),
             time_cell(ours[0], ours[0].median_us), time_cell(ours[0], ours[0].low_us),
             time_cell(ours[0], ours[0].high_us), time_cell(ours[1], ours[1].median_us),
             Cell(none, 3), Cell(none, 3), Cell(verdict.relative_error, 7), verdict.norm_check,
             Cell(verdict.bound_ratio, 4), verdict.fp64_check});
  for (std::size_t i = 0; i < chained.size(); ++i) {
    const Measurement& row = chained[i];
    // A recording knows lt_tuned between foreign kernels only through what was paired with it.
    Cell foreign_us(none, 3);
    double foreign_gain = none;
    if (foreign) {
      foreign_us = time_cell((*foreign)[i], (*foreign)[i].median_us);
      foreign_gain = gain(ours[1], (*foreign)[i]);
    } else if (row.kind == Kind::kLtTuned && ours[1].status == Status::kOk) {
      foreign_us = Cell(ours[1].median_us * ours[1].ratio, 3);
      foreign_gain = ours[1].ratio;
    }
    table.add({shape_name(problem), name(row.kind), row.config, "", name(row.status),
               time_cell(row, row.median_us), time_cell(row, row.low_us),
               time_cell(row, row.high_us), foreign_us, Cell(gain(ours[0], row), 4),
               Cell(foreign_gain, 4), Cell(none, 7), "", Cell(none, 4), ""});
  }
  if (!verdict.why_bad.empty()) complain(options, session, problem, choice.config, verdict.why_bad);
  return verdict.why_bad.empty();
}

Result<bool> server(const EvalOptions& options, const Session& session, Bench& bench,
                    const Problem& problem, const Choice& choice, Table& table) {
  // A candidate that hangs or faults is found here, under the watchdog, and not while serving.
  GEMMSMITH_TRY(const std::vector<Measurement> screened,
                bench.screen(problem, std::span(&choice.config, 1), Setting::kChained));
  GEMMSMITH_TRY(const Verdict verdict,
                judge(bench, session, problem, choice.config, screened.front()));
  if (!verdict.why_bad.empty()) {
    complain(options, session, problem, choice.config, verdict.why_bad);
    return false;
  }
  GEMMSMITH_TRY(const std::vector<ServeReport> reports,
                bench.serve(problem, choice.config, options.serve));
  bool is_first = true;
  for (const ServeReport& report : reports) {
    const double none = std::nan("");
    table.add({shape_name(problem), is_first ? "ours" : name(report.kind), report.config,
               is_first ? choice.source : "", name(report.status),
               Cell(options.serve.target_qps, 1), Cell(report.achieved_qps, 1), report.requests,
               report.finished, report.late, Cell(report.mean_us, 1), Cell(report.p50_us, 1),
               Cell(report.p95_us, 1), Cell(report.p99_us, 1), Cell(report.max_us, 1),
               Cell(is_first ? verdict.relative_error : none, 7),
               is_first ? verdict.norm_check : "", Cell(is_first ? verdict.bound_ratio : none, 4),
               is_first ? verdict.fp64_check : ""});
    is_first = false;
  }
  if (reports.empty() || reports.front().status == Status::kOk) return true;
  complain(options, session, problem, choice.config, reports.front().detail);
  return false;
}

Result<void> check_load(const ServeSettings& serve) {
  const double expected = serve.target_qps * serve.duration_s;
  if (!(serve.target_qps > 0) || !(serve.duration_s > 0) || !(expected <= kMostRequests))
    return fail(ErrorCode::kBadInput,
                "--target-qps {:g} for --duration {:g} s: expected both above 0 and at most {:g} "
                "requests in all",
                serve.target_qps, serve.duration_s, kMostRequests);
  if (expected < 1)
    return fail(ErrorCode::kBadInput,
                "--target-qps {:g} for --duration {:g} s: less than one request; raise either",
                serve.target_qps, serve.duration_s);
  return {};
}

Result<int> run(EvalOptions options, const Session& session) {
  GEMMSMITH_TRY(std::vector<Problem> problems, options.problem.problems());
  const bool is_server = options.mode == "server";
  GEMMSMITH_CHECK(check_load(options.serve));
  Table table(
      is_server
          ? std::vector<std::string>{"shape", "who", "config", "source", "status", "target_qps",
                                     "qps", "requests", "finished", "late", "mean_us", "p50_us",
                                     "p95_us", "p99_us", "max_us", "relative_error", "norm_check",
                                     "bound_ratio", "fp64_check"}
          : std::vector<std::string>{"shape", "who", "config", "source", "status", "us", "low_us",
                                     "high_us", "foreign_us", "ours_faster", "ours_faster_foreign",
                                     "relative_error", "norm_check", "bound_ratio", "fp64_check"});
  std::erase_if(problems, [](const Problem& p) { return p.is_empty() || p.k == 0; });
  if (problems.empty()) {
    talk("nothing to evaluate: every shape has a size of zero\n");
    if (session.format != OutputFormat::kText) std::cout << table.render(session.format);
    return 0;
  }
  const std::string& device = session.settings.value("device");
  if (!is_gpu(device) && !is_recorded(device))
    return fail(ErrorCode::kUnsupported,
                "{} computes nothing that could be evaluated: gemmsmith bench and tune print what "
                "it predicts",
                device);
  if (is_server && is_recorded(device))
    return fail(
        ErrorCode::kUnsupported,
        "--mode server needs a GPU: a recording holds times of single launches, not latency "
        "under load; pass --device cuda:N, or --mode offline");
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  options.serve.seed = settings.seed;
  GEMMSMITH_TRY(const std::unique_ptr<Bench> bench, open_bench(device, settings));

  int bad = 0;
  Sweep swept;
  {
    ProgressLine progress("shapes", static_cast<std::int64_t>(problems.size()), session.quiet);
    std::int64_t done = 0;
    const auto evaluate = [&](const Problem& problem) -> Result<void> {
      progress.update(done, shape_name(problem) + " choosing");
      GEMMSMITH_TRY(const Choice choice,
                    choose_config(options.config, options.ranked, session, *bench, problem));
      progress.update(done, fmt::format("{} {} {}", shape_name(problem),
                                        is_server ? "serving" : "timing", to_text(choice.config)));
      GEMMSMITH_TRY(const bool good,
                    is_server ? server(options, session, *bench, problem, choice, table)
                              : offline(options, session, *bench, problem, choice, table));
      if (!good) ++bad;
      progress.update(++done, shape_name(problem));
      return {};
    };
    GEMMSMITH_TRY(swept, sweep(problems, evaluate));
  }
  std::cout << table.render(session.format);
  return end(swept, bad > 0);
}

}  // namespace

Verb add_eval(CLI::App& parent, Session& session) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* app =
      parent.add_subcommand("eval", "Check one shape: errors, and time or latency under load");
  app->footer(
      "Examples:\n"
      "  gemmsmith eval --mnk 64_4096_64 --gpu-device-id 0\n"
      "  gemmsmith eval --mnk 64_4096_64 --mode server --target-qps 100 --duration 5\n"
      "  gemmsmith eval --mnk 4096_4096_4096 --config sm90_ws:w2.m128.n256\n"
      "Ours is the config given, else the store's winner for this device, else the best of the "
      "ranked.\n"
      "Offline: GPU time back to back (us) and between foreign kernels (foreign_us); ours_faster: "
      "the baseline's time over ours. Of the store's winner this is the plan, not its follower.\n"
      "Server: requests arrive at random (Poisson) at the target rate whether or not earlier ones "
      "are done; latency runs from the scheduled arrival.\n"
      "Exit code 1 when ours is wrong: relative error against cuBLAS of 1e-3 (f16 with f32 "
      "accumulation), FP64 bound, or any other check.");
  options->problem.add_to(*app);
  app->add_option("--mode", options->mode, "offline (GPU time) or server (latency under load)")
      ->check(CLI::IsMember({"offline", "server"}))
      ->capture_default_str();
  add_number(*app, "--target-qps", options->serve.target_qps, "Requests a second (server) [100]",
             0);
  add_number(*app, "--duration", options->serve.duration_s,
             "Seconds of load for ours and for each baseline (server) [5]", 0);
  CLI::Option* config =
      app->add_option("--config", options->config, "Evaluate this config, ours or cublaslt:...");
  add_whole_number(*app, "--ranked", options->ranked,
                   "Where nothing is given or stored: the best of so many ranked configs [8]", 1);
  add_setting_options(*app, session,
                      {"device", "store", "seed", "workspace_mib", "compile_threads"});
  config->excludes("--store");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
