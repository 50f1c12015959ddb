// gemmsmith space: the legal configs of a problem on a target, and which rule removed the others.
#include <iostream>
#include <nlohmann/json.hpp>

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

// Adds the rules that the config of --why breaks for one problem.
Result<void> explain(const std::string& text, const SpaceContext& context, Table& table) {
  GEMMSMITH_TRY(const Config config, parse_config(text, kernel_families()));
  const std::string shape = shape_name(context.problem);
  const std::vector<const Constraint*> broken = broken_rules(context, config);
  for (const Constraint* rule : broken)
    table.add({shape, to_text(config), std::string(rule->id), std::string(rule->reason)});
  if (broken.empty()) table.add({shape, to_text(config), "legal", "no rule forbids it"});
  return {};
}

void print_presets(OutputFormat format) {
  Table table({"preset", "config", "origin"});
  for (const Family* family : kernel_families())
    for (const Preset& preset : family->presets)
      table.add({std::string(preset.name), std::string(preset.config), std::string(preset.origin)});
  std::cout << table.render(format);
}

// What one problem's space holds.
struct Listing {
  std::vector<std::vector<Cell>> configs;
  std::vector<std::vector<Cell>> removed;
};

Listing count(const SpaceOptions& options, const std::vector<const Family*>& families,
              const SpaceContext& context) {
  Listing listing;
  for (const Family* family : families) {
    const auto visit = [&](const Config& config) {
      if (static_cast<int>(listing.configs.size()) < options.limit) {
        const Footprint footprint = family->footprint(config, context.problem.accumulator);
        listing.configs.push_back({shape_name(context.problem), to_text(config), footprint.threads,
                                   footprint.shared_bytes});
      }
      return true;
    };
    const EnumerationReport report = enumerate(
        *family, context, [&](const Config& config) { return options.kernels || visit(config); });
    if (options.kernels)
      for (const Config& kernel : kernels_of(*family, context)) visit(kernel);
    const auto add = [&](std::string rule, std::int64_t removed, std::string reason) {
      listing.removed.push_back({shape_name(context.problem), std::string(family->name),
                                 std::move(rule), long{removed}, std::move(reason)});
    };
    add("(all combinations)", report.considered, "");
    for (const Constraint& constraint : family->constraints) {
      const auto found = report.removed_by.find(std::string(constraint.id));
      if (found != report.removed_by.end())
        add(std::string(constraint.id), found->second, std::string(constraint.reason));
    }
    add("(legal)", report.legal, "");
  }
  return listing;
}

// One document, however many problems there are: both tables of each problem for people, an array
// with an object a problem as JSON, and as CSV the table that was asked for: configs, or with
// --limit 0 what removed the others.
class Printer {
 public:
  Printer(OutputFormat format, bool lists_configs)
      : format_(format), lists_configs_(lists_configs) {}

  void print(const SpaceContext& context, const Listing& listing) {
    if (format_ != OutputFormat::kCsv) configs_ = removed_ = Rows();
    for (const auto& row : listing.configs) configs_.push_back(row);
    for (const auto& row : listing.removed) removed_.push_back(row);
    if (format_ == OutputFormat::kJson) {
      using nlohmann::ordered_json;
      ordered_json object{{"problem", describe(context.problem)}, {"target", context.target.name}};
      object["removed"] = ordered_json::parse(removed().render(format_));
      object["configs"] = ordered_json::parse(configs().render(format_));
      documents_.push_back(std::move(object));
    } else if (format_ == OutputFormat::kText) {
      std::cout << describe(context.problem) << " on " << context.target.name << "\n\n"
                << removed().render(format_);
      if (lists_configs_) std::cout << "\n" << configs().render(format_);
    }
  }

  void finish() const {
    if (format_ == OutputFormat::kJson) std::cout << documents_.dump(2) << "\n";
    if (format_ == OutputFormat::kCsv)
      std::cout << (lists_configs_ ? configs() : removed()).render(format_);
  }

 private:
  using Rows = std::vector<std::vector<Cell>>;
  static Table table(std::vector<std::string> columns, const Rows& rows) {
    Table table(std::move(columns));
    for (const auto& row : rows) table.add(row);
    return table;
  }
  Table configs() const { return table({"shape", "config", "threads", "shared_bytes"}, configs_); }
  Table removed() const {
    return table({"shape", "family", "rule", "removed", "reason"}, removed_);
  }

  OutputFormat format_;
  bool lists_configs_;
  Rows configs_;
  Rows removed_;
  nlohmann::ordered_json documents_ = nlohmann::ordered_json::array();
};

Result<int> run(const SpaceOptions& options, const Session& session) {
  if (options.presets) {
    print_presets(session.format);
    return 0;
  }
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  GEMMSMITH_TRY(const std::vector<const Family*> families, chosen_families(options.family));
  if (!options.why.empty()) {
    Table table({"shape", "config", "rule", "reason"});
    for (const Problem& problem : problems)
      GEMMSMITH_CHECK(explain(options.why, {problem, target}, table));
    std::cout << table.render(session.format);
    return 0;
  }
  Printer printer(session.format, options.limit > 0);
  for (const Problem& problem : problems)
    printer.print({problem, target}, count(options, families, {problem, target}));
  printer.finish();
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
