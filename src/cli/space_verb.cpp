// gemmsmith space: the legal configs of a problem on a target, and which rule removed the others.
#include <iostream>

#include "cli/verb.h"
#include "space/space.h"

namespace gemmsmith::cli {
namespace {

struct SpaceOptions {
  ProblemOptions problem;
  std::string target = "h200";
  std::string family;
  std::string why;
  int limit = 20;
  bool kernels = false;
  bool presets = false;
};

Result<std::vector<const Family*>> chosen_families(const std::string& name) {
  std::vector<const Family*> families;
  for (const Family* family : kernel_families())
    if (name.empty() || family->name == name) families.push_back(family);
  if (families.empty())
    return fail(ErrorCode::kBadInput, "unknown family '{}': expected sm90_ws or sm80_mma", name);
  return families;
}

Result<int> explain(const SpaceOptions& options, const SpaceContext& context, OutputFormat format) {
  GEMMSMITH_TRY(const Config config, parse_config(options.why, kernel_families()));
  Table table({"config", "rule", "reason"});
  for (const Constraint* rule : broken_rules(context, config))
    table.add({to_text(config), std::string(rule->id), std::string(rule->reason)});
  if (table.size() == 0) table.add({to_text(config), "legal", "no rule forbids it"});
  std::cout << table.render(format);
  return 0;
}

void print_presets(OutputFormat format) {
  Table table({"preset", "config", "origin"});
  for (const Family* family : kernel_families())
    for (const Preset& preset : family->presets)
      table.add({std::string(preset.name), std::string(preset.config), std::string(preset.origin)});
  std::cout << table.render(format);
}

Result<int> run(const SpaceOptions& options, const Session& session) {
  if (options.presets) {
    print_presets(session.format);
    return 0;
  }
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  GEMMSMITH_TRY(const std::vector<const Family*> families, chosen_families(options.family));
  for (const Problem& problem : problems) {
    const SpaceContext context{problem, target};
    if (!options.why.empty()) {
      GEMMSMITH_CHECK(explain(options, context, session.format));
      continue;
    }
    Table configs({"config", "threads", "shared_bytes"});
    Table removed({"family", "rule", "removed", "reason"});
    for (const Family* family : families) {
      const auto visit = [&](const Config& config) {
        if (static_cast<int>(configs.size()) < options.limit) {
          const Footprint footprint = family->footprint(config, problem.accumulator);
          configs.add({to_text(config), footprint.threads, footprint.shared_bytes});
        }
        return true;
      };
      const EnumerationReport report = enumerate(
          *family, context, [&](const Config& config) { return options.kernels || visit(config); });
      if (options.kernels)
        for (const Config& kernel : kernels_of(*family, context)) visit(kernel);
      removed.add({std::string(family->name), "(all combinations)", long{report.considered}, ""});
      for (const Constraint& constraint : family->constraints) {
        const auto found = report.removed_by.find(std::string(constraint.id));
        if (found != report.removed_by.end())
          removed.add({std::string(family->name), std::string(constraint.id), long{found->second},
                       std::string(constraint.reason)});
      }
      removed.add({std::string(family->name), "(legal)", long{report.legal}, ""});
    }
    if (session.format == OutputFormat::kText)
      std::cout << describe(problem) << " on " << target.name << "\n\n";
    std::cout << removed.render(session.format);
    if (options.limit > 0) std::cout << "\n" << configs.render(session.format);
  }
  return 0;
}

}  // namespace

Verb add_space(CLI::App& parent, Session& session) {
  auto options = std::make_shared<SpaceOptions>();
  CLI::App* app = parent.add_subcommand("space", "List the legal configs of a problem");
  app->footer(
      "Examples:\n"
      "  gemmsmith space --mnk 64_4096_64\n"
      "  gemmsmith space --mnk 4096_4096_4096 --why sm90_ws:w2.m128.n256.s5\n"
      "  gemmsmith space --mnk 8192_8192_64 --family sm80_mma --target a100 --limit 0");
  options->problem.add_to(*app);
  app->add_option("--target", options->target, "a100, h100 or h200 [h200]");
  app->add_option("--family", options->family, "Only this family: sm90_ws or sm80_mma");
  app->add_option("--why", options->why, "Name the rules that CONFIG breaks");
  app->add_option("--limit", options->limit, "How many configs to list [20]");
  app->add_flag("--kernels", options->kernels, "Compile-time parameters only: one line a kernel");
  app->add_flag("--presets", options->presets, "List the recommended presets");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
