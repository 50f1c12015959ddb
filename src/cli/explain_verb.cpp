// gemmsmith explain: what the policy would choose for a problem that nobody measured, and why it
// prefers that to the runner-up, feature by feature; or what the runtime would serve a problem by,
// from a plan table and the policy. Needs no GPU.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/log.h"
#include "cli/sweep.h"
#include "cli/verb.h"
#include "plan/kernel_chooser.h"
#include "policy/analytic_ranker.h"
#include "policy/explanation.h"
#include "policy/features.h"
#include "policy/policy_file.h"
#include "vendor/all_families.h"

namespace gemmsmith::cli {
namespace {

// As many of the analytic ranker's configs as tuning considers by default.
constexpr int kCandidates = 160;
constexpr int kPerKernel = 3;
constexpr std::size_t kReasons = 8;

struct ExplainOptions {
  ProblemOptions problem;
  std::string policy;
  std::string target = "h200";
  std::vector<std::string> configs;
  std::string plans;
};

Result<std::vector<Config>> candidates(const ExplainOptions& options, const Problem& problem,
                                       const Target& target) {
  if (options.configs.empty())
    return policy::ranked_configs(problem, target, kCandidates, kPerKernel);
  std::vector<Config> configs;
  for (const std::string& text : options.configs) {
    GEMMSMITH_TRY(Config config, parse_config(text, all_families()));
    if (const Constraint* const rule = broken_rule({problem, target}, config))
      return fail(ErrorCode::kBadInput, "{} is not legal for {}: {} ({})", text, describe(problem),
                  rule->reason, rule->id);
    configs.push_back(std::move(config));
  }
  return configs;
}

double percent(float log_difference) {
  return 100 * std::expm1(static_cast<double>(log_difference));
}

Result<void> explain(const Problem& problem, const Target& target, const policy::Network& network,
                     const ExplainOptions& options, OutputFormat format, Table& table) {
  GEMMSMITH_TRY(const std::vector<Config> configs, candidates(options, problem, target));
  if (configs.empty())
    return fail(ErrorCode::kUnsupported, "{}: no config of ours is legal: cuBLASLt serves it",
                describe(problem));
  const std::size_t width = policy::feature_count();
  std::vector<float> rows(configs.size() * width);
  const policy::FeatureRows features(problem, target);
  const auto row = [&](std::size_t i) { return std::span(rows).subspan(i * width, width); };
  for (std::size_t i = 0; i < configs.size(); ++i) features.fill(configs[i], row(i));
  const std::vector<float> scores = policy::score_rows(network, rows).score;
  std::vector<std::size_t> order(configs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const std::string chosen = to_text(configs[order[0]]);
  if (configs.size() == 1) {
    table.add({shape_name(problem), chosen, "", "the only legal config", "", "", ""});
    return {};
  }
  const std::string runner_up = to_text(configs[order[1]]);
  if (format == OutputFormat::kText)
    std::cout << fmt::format(
        "{}: {} is expected to be {:.2f} % faster than {}, of {} configs\n", shape_name(problem),
        chosen, percent(scores[order[0]] - scores[order[1]]), runner_up, configs.size());
  const auto reasons = policy::explain(network, row(order[0]), row(order[1]));
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasons); ++i) {
    const policy::Contribution& reason = reasons[i];
    table.add({shape_name(problem), chosen, runner_up,
               std::string(policy::feature_names()[reason.feature].words),
               Cell(static_cast<double>(reason.ours), 3),
               Cell(static_cast<double>(reason.theirs), 3), Cell(percent(reason.effect), 2)});
  }
  return {};
}

std::string gain_text(float ratio) { return fmt::format("{:.2f}x", ratio); }

// By what the runtime serves each problem where this table and this policy are in use.
Result<Table> serving(const std::vector<Problem>& problems, const Target& target,
                      const policy::Network& network, const std::string& plans) {
  GEMMSMITH_TRY(const plan::PlanTable table, plan::PlanTable::open(plans));
  if (table.compute_capability() != target.compute_capability ||
      table.sm_count() != target.sm_count || table.device_name() != target.name)
    return fail(ErrorCode::kBadInput, "{}: made for {}, not for {}; give its --target", plans,
                table.device_name(), target.name);
  const plan::KernelChooser chooser(table, network, target);
  Table rows({"shape", "served by", "config", "because", "policy's choice"});
  for (const Problem& problem : problems) {
    if (problem.is_empty()) continue;
    if (const plan::PlanEntry* const entry = table.find(plan::key_of(problem)); entry != nullptr) {
      rows.add({shape_name(problem), "plan", std::string(table.text(*entry)),
                fmt::format("its plan gained {} back to back, {} between foreign kernels",
                            gain_text(entry->ratio_chained), gain_text(entry->ratio_foreign)),
                ""});
      continue;
    }
    const plan::Evidence evidence = chooser.evidence(problem);
    const plan::PlanEntry* const best = chooser.best_kernel(problem);
    const std::string choice = best != nullptr ? std::string(table.text(*best)) : "";
    const bool is_trusted = evidence.verdict == plan::Evidence::Verdict::kTrusted;
    const bool is_served = is_trusted && best != nullptr;
    rows.add(
        {shape_name(problem), is_served ? "policy" : "cublaslt", is_served ? choice : "",
         is_trusted && best == nullptr ? "no kernel of the table is legal" : describe(evidence),
         choice});
  }
  return rows;
}

Result<int> run(const ExplainOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  GEMMSMITH_TRY(const policy::PolicyFile file, policy::read_policy(options.policy));
  if (!options.plans.empty()) {
    GEMMSMITH_TRY(const Table rows, serving(problems, target, file.network, options.plans));
    std::cout << rows.render(session.format);
    return 0;
  }
  Table table(
      {"shape", "chosen", "runner-up", "because of", "chosen's", "runner-up's", "effect %"});
  GEMMSMITH_TRY(const Sweep done, sweep(problems, [&](const Problem& problem) -> Result<void> {
                  if (problem.is_empty()) return {};
                  return explain(problem, target, file.network, options, session.format, table);
                }));
  std::cout << table.render(session.format);
  return end(done, false);
}

}  // namespace

Verb add_explain(CLI::App& parent, Session& session) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* app = parent.add_subcommand(
      "explain", "Why a policy prefers a config to the runner-up, or what it serves (no GPU)");
  app->footer(
      "Examples:\n"
      "  gemmsmith explain --mnk 64_4096_64 --policy data/policy/h200_f16_f32_tn.policy\n"
      "  gemmsmith explain --mnk 4096_4096_4096 --policy mine.policy \\\n"
      "                    --of sm90_ws:w2.m128.n256 --of cublaslt:a66.t23.s35.g3\n"
      "  gemmsmith explain --mnk 96_3072_768 --policy mine.policy --plans mine.plans\n"
      "Sizes are shown as logarithms to base 2. An effect above 0 speaks for the chosen one; all "
      "of\n"
      "them together make the expected difference.");
  options->problem.add_to(*app);
  app->add_option("--policy", options->policy, "A trained policy (gemmsmith train)")->required();
  app->add_option("--target", options->target, "a100, h100 or h200 [h200]");
  app->add_option("--of", options->configs,
                  "Compare these configs only [the analytic ranker's front, ours]");
  app->add_option("--plans", options->plans,
                  "Say instead what serves each shape where this plan table and the policy are in "
                  "use (gemmsmithSetPolicy)")
      ->excludes("--of");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
