// gemmsmith monitor: what a policy does about the plans of a running process, or would do about
// those of a recorded run, decision by decision.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>

#include "base/log.h"
#include "cli/live_monitor.h"
#include "cli/number_options.h"
#include "cli/verb.h"
#include "monitor/engine.h"
#include "monitor/series.h"
#include "policy/analytic_ranker.h"
#include "vendor/all_families.h"

namespace gemmsmith::cli {
namespace {

// Plans that are tried behind the first one before the library's heuristic is better trusted.
constexpr int kNextPlans = 3;

struct MonitorOptions {
  std::string attach;
  std::int64_t interval_ms = 100;
  std::string log;
  std::string record;
  std::string replay;
  std::string policy;
  std::string target = "h200";
  std::string type = "f16";
  std::string acc = "f32";
  std::string layout = "tn";
  bool print_policy = false;

  Result<Problem> base() const {
    Problem problem;
    GEMMSMITH_TRY(problem.type, parse_data_type(type));
    GEMMSMITH_TRY(problem.accumulator, parse_data_type(acc));
    GEMMSMITH_TRY(problem.layout, parse_layout(layout));
    return problem;
  }
};

// The plans that a recorded process had at hand, as its series tells.
monitor::NextPlan recorded_plans(std::map<std::string, std::vector<Config>> at_hand) {
  return [at_hand = std::move(at_hand)](const Problem& problem,
                                        const std::vector<Config>& tried) -> std::optional<Config> {
    for (const Config& config : at_hand.at(describe(problem)))
      if (std::find(tried.begin(), tried.end(), config) == tried.end()) return config;
    return std::nullopt;
  };
}

// The best-ranked configs of other kernels than those that were tried.
monitor::NextPlan ranked_plans(const Target& target) {
  return
      [target](const Problem& problem, const std::vector<Config>& tried) -> std::optional<Config> {
        for (const Config& config : policy::ranked_configs(problem, target, kNextPlans + 1, 1)) {
          bool is_new = true;
          for (const Config& other : tried)
            is_new = is_new && kernel_text(config) != kernel_text(other);
          if (is_new) return config;
        }
        return std::nullopt;
      };
}

Result<monitor::Policy> chosen_policy(const MonitorOptions& options) {
  if (!options.policy.empty()) return monitor::read_policy(options.policy);
  return monitor::parse_policy(monitor::default_policy_text(), "built-in policy");
}

// With what the series says was at hand, else with whatever ranks best.
Result<monitor::Engine> engine_for(const monitor::Series& series, monitor::Policy policy,
                                   const Target& target) {
  if (!series.has_alternates)
    return monitor::Engine(std::move(policy), target, ranked_plans(target));
  std::map<std::string, std::vector<Config>> at_hand;
  for (std::size_t i = 0; i < series.plans.size(); ++i) {
    std::vector<Config>& configs = at_hand[describe(series.plans[i].first)];
    for (const std::string& text : series.alternates[i]) {
      GEMMSMITH_TRY(Config config, parse_config(text, all_families()));
      configs.push_back(std::move(config));
    }
  }
  const auto can_serve = [at_hand](const Problem& problem, const Config& config) {
    const std::vector<Config>& configs = at_hand.at(describe(problem));
    return std::find(configs.begin(), configs.end(), config) != configs.end();
  };
  return monitor::Engine(std::move(policy), target, recorded_plans(std::move(at_hand)), can_serve);
}

// A series, or a live process, and not both.
Result<void> check_source(const MonitorOptions& options) {
  if (options.replay.empty() && options.attach.empty())
    return fail(ErrorCode::kBadInput,
                "nothing to watch: pass --attach PATH, the GEMMSMITH_MONITOR of a process, or "
                "--replay FILE, a recorded series (docs/monitor.md)");
  if (!options.replay.empty() && !options.attach.empty())
    return fail(ErrorCode::kBadInput, "--attach and --replay: expected one of them");
  if (options.attach.empty() && (!options.log.empty() || !options.record.empty()))
    return fail(ErrorCode::kBadInput, "--log and --record belong to --attach");
  return {};
}

Result<int> run(const MonitorOptions& options, const Session& session) {
  if (options.print_policy) {
    std::cout << monitor::default_policy_text();
    return 0;
  }
  GEMMSMITH_TRY(monitor::Policy policy, chosen_policy(options));
  GEMMSMITH_CHECK(check_source(options));
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  if (!options.attach.empty())
    return monitor_live({options.attach, std::chrono::milliseconds(options.interval_ms),
                         options.log, options.record, session.format, session.quiet},
                        policy, target);
  GEMMSMITH_TRY(const Problem base, options.base());
  GEMMSMITH_TRY(const monitor::Series series, monitor::read_series(options.replay, base));
  GEMMSMITH_CHECK(monitor::check_metrics(policy, series.present, options.replay));
  GEMMSMITH_TRY(monitor::Engine engine, engine_for(series, std::move(policy), target));
  for (const auto& [problem, text] : series.plans) {
    if (text.empty()) continue;
    GEMMSMITH_TRY(Config plan, parse_config(text, all_families()));
    if (const Constraint* broken = broken_rule({problem, target}, plan))
      return fail(ErrorCode::kBadInput, "{}: {} is not legal for {}: {} ({})", options.replay, text,
                  describe(problem), broken->reason, broken->id);
    engine.serve(problem, std::move(plan));
  }
  Table table({"t_s", "shape", "decision", "rule", "metric", "value", "threshold", "samples",
               "action", "from", "to", "reason"});
  long decisions = 0;
  for (const monitor::Sample& sample : series.samples) {
    const auto decision = engine.judge(sample);
    if (!decision) continue;
    ++decisions;
    table.add({Cell(decision->t_s, 2), shape_name(decision->problem), name(decision->verb),
               decision->rule, decision->metric, Cell(decision->value, 3),
               Cell(decision->threshold, 3), decision->samples, decision->action,
               monitor::serving_text(decision->from), monitor::serving_text(decision->to),
               decision->reason});
  }
  std::cout << table.render(session.format);
  if (!session.quiet)
    talk("{} decisions in {} samples of {} shapes\n", decisions, series.samples.size(),
         series.plans.size());
  return 0;
}

}  // namespace

Verb add_monitor(CLI::App& parent, Session& session) {
  auto options = std::make_shared<MonitorOptions>();
  CLI::App* app = parent.add_subcommand(
      "monitor", "Watch a process and act by a policy where plans no longer keep their promise");
  app->footer(
      "Examples:\n"
      "  GEMMSMITH_MONITOR=/dev/shm/serve.watch ./my_program &\n"
      "  gemmsmith monitor --attach /dev/shm/serve.watch --log decisions.jsonl\n"
      "  gemmsmith monitor --replay run.csv\n"
      "  gemmsmith monitor --replay run.csv --policy mine.toml --json\n"
      "  gemmsmith monitor --print-policy > mine.toml\n"
      "The series and the policy are described in docs/monitor.md.");
  app->add_option("--attach", options->attach, "GEMMSMITH_MONITOR of a process: watch it");
  add_whole_number(*app, "--interval-ms", options->interval_ms, "From look to look [100]", 1);
  app->add_option("--log", options->log, "Add each decision to a file, as a line of JSON");
  app->add_option("--record", options->record, "Write what was seen as a series, for --replay");
  app->add_option("--replay", options->replay, "Judge a recorded series instead: a dry run");
  app->add_option("--policy", options->policy, "Rules in TOML [the built-in policy]");
  app->add_flag("--print-policy", options->print_policy, "Print the built-in policy and end");
  app->add_option("--target", options->target, "The GPU: a100, h100 or h200 [h200]");
  app->add_option("--type", options->type, "Type of the series' problems [f16]");
  app->add_option("--acc", options->acc, "Their accumulator [f32]");
  app->add_option("--layout", options->layout, "Their layout [tn]");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
