// gemmsmith monitor: what a policy would do about the plans of a recorded run, decision by
// decision.
#include <iostream>
#include <memory>

#include "base/log.h"
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

Result<int> run(const MonitorOptions& options, const Session& session) {
  if (options.print_policy) {
    std::cout << monitor::default_policy_text();
    return 0;
  }
  GEMMSMITH_TRY(monitor::Policy policy, chosen_policy(options));
  if (options.replay.empty())
    return fail(ErrorCode::kBadInput,
                "nothing to watch: pass --replay FILE, a recorded series (docs/monitor.md)");
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  GEMMSMITH_TRY(const Problem base, options.base());
  GEMMSMITH_TRY(const monitor::Series series, monitor::read_series(options.replay, base));
  GEMMSMITH_CHECK(monitor::check_metrics(policy, series.present, options.replay));
  monitor::Engine engine(std::move(policy), target, ranked_plans(target));
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
      "monitor", "What a policy does about plans that no longer keep their promise (dry run)");
  app->footer(
      "Examples:\n"
      "  gemmsmith monitor --replay run.csv\n"
      "  gemmsmith monitor --replay run.csv --policy mine.toml --json\n"
      "  gemmsmith monitor --print-policy > mine.toml\n"
      "The series and the policy are described in docs/monitor.md.");
  app->add_option("--replay", options->replay, "A recorded series: what was seen, line by line");
  app->add_option("--policy", options->policy, "Rules in TOML [the built-in policy]");
  app->add_flag("--print-policy", options->print_policy, "Print the built-in policy and end");
  app->add_option("--target", options->target, "a100, h100 or h200 [h200]");
  app->add_option("--type", options->type, "Type of the series' problems [f16]");
  app->add_option("--acc", options->acc, "Their accumulator [f32]");
  app->add_option("--layout", options->layout, "Their layout [tn]");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
