// gemmsmith space: the legal configs of a problem on a target, and which rule removed the others.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "base/log.h"
#include "cli/l2_table.h"
#include "cli/number_options.h"
#include "cli/sweep.h"
#include "cli/vendor_check.h"
#include "cli/verb.h"
#include "space/kernel_problem.h"
#include "space/space.h"
#include "vendor/all_families.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::cli {
namespace {

struct SpaceOptions {
  ProblemOptions problem;
  std::string target = "h200";
  std::string family;
  std::string why;
  std::string l2;
  int limit = 20;
  bool kernels = false;
  bool presets = false;
};

Result<std::vector<const Family*>> chosen_families(const std::string& name) {
  std::vector<const Family*> families;
  for (const Family* family : all_families())
    if (name.empty() || family->name == name) families.push_back(family);
  if (families.empty())
    return fail(ErrorCode::kBadInput, "unknown family '{}': expected sm90_ws, sm80_mma or cublaslt",
                name);
  return families;
}

// Its verdict stands beside the rules: the library alone knows what it supports.
constexpr const char* kLibraryRule = "algo_check";

// The library where it can be asked, or why not. Opened for the first vendor config that needs it.
class Library {
 public:
  Library(const std::string& device, const Target& target) : device_(device), target_(target) {}

  Result<vendor::LtMatmul> describe(const Problem& problem) {
    if (!check_) check_ = VendorCheck::open(device_, target_);
    if (!*check_) return tl::unexpected<Error>(check_->error());
    return (**check_)->describe(problem);
  }
  // Only after describe() gave descriptors.
  const std::string& who() const { return (**check_)->who(); }

 private:
  const std::string& device_;
  const Target& target_;
  std::optional<Result<std::unique_ptr<VendorCheck>>> check_;
};

// What the library says of a config that no rule of ours forbids: a rule and its reason.
std::pair<std::string, std::string> library_verdict(const Config& config, const Problem& problem,
                                                    Library& library) {
  const auto matmul = library.describe(problem);
  if (!matmul)
    return {"legal", fmt::format("no rule of ours forbids it; the library's own check is "
                                 "unavailable: {}",
                                 matmul.error().what)};
  const auto algo = vendor::to_algo(config, *matmul);
  if (!algo) return {kLibraryRule, algo.error().what};
  return {"legal", fmt::format("no rule forbids it; {} accepts it with {} bytes of workspace",
                               library.who(), algo->workspace_bytes)};
}

// Adds the rules that the config of --why breaks for one problem.
void explain(const Config& config, const SpaceContext& context, Library& library, Table& table) {
  const std::string shape = shape_name(context.problem);
  const std::vector<const Constraint*> broken = broken_rules(context, config);
  const char* const whose = is_transposed(config) ? " (of the transposed product, as t1 asks)" : "";
  for (const Constraint* rule : broken)
    table.add({shape, to_text(config), std::string(rule->id), std::string(rule->reason) + whose});
  if (!broken.empty()) return;
  if (!vendor::is_vendor(config)) {
    table.add({shape, to_text(config), "legal", "no rule forbids it"});
    return;
  }
  const auto [rule, reason] = library_verdict(config, context.problem, library);
  table.add({shape, to_text(config), rule, reason});
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

// Lists and counts one family's configs for one problem.
class Counter {
 public:
  Counter(const SpaceOptions& options, const SpaceContext& context, Library& library,
          Listing& listing)
      : options_(options), context_(context), library_(library), listing_(listing) {}

  // kInterrupted once the user stops it.
  Result<void> count(const Family& family) {
    const bool is_vendor = &family == &vendor::cublaslt_family();
    if (is_vendor) matmul_.emplace(library_.describe(context_.problem));
    std::int64_t refused = 0;
    const EnumerationReport report = enumerate(family, context_, [&](const Config& config) {
      if (is_vendor && *matmul_ && !vendor::to_algo(config, **matmul_))
        ++refused;
      else if (!options_.kernels)
        list(config);
      return !interrupted();
    });
    if (interrupted()) return fail(ErrorCode::kInterrupted, "interrupted");
    // The library brings its kernels along: it has none to compile.
    if (options_.kernels && !is_vendor)
      for (const Config& kernel : kernels_of(family, context_)) list(kernel);
    add(family, "(all combinations)", report.considered, "");
    for (const Constraint& constraint : family.constraints) {
      const auto found = report.removed_by.find(std::string(constraint.id));
      if (found != report.removed_by.end())
        add(family, std::string(constraint.id), found->second, std::string(constraint.reason));
    }
    if (is_vendor)
      add(family, kLibraryRule, refused,
          *matmul_ ? fmt::format("{} does not support it", library_.who())
                   : "unavailable: " + matmul_->error().what);
    add(family, "(legal)", report.legal - refused, "");
    return {};
  }

 private:
  void list(const Config& config) {
    if (static_cast<int>(listing_.configs.size()) >= options_.limit) return;
    std::vector<Cell> row = {shape_name(context_.problem), to_text(config)};
    if (config.family->footprint != nullptr) {
      const Footprint footprint = config.family->footprint(config, signature_of(context_.problem));
      row.insert(row.end(), {footprint.threads, footprint.shared_bytes});
    } else {
      row.insert(row.end(), {Cell(std::nan(""), 0), Cell(std::nan(""), 0)});
    }
    listing_.configs.push_back(std::move(row));
  }

  void add(const Family& family, std::string rule, std::int64_t removed, std::string reason) {
    listing_.removed.push_back({shape_name(context_.problem), std::string(family.name),
                                std::move(rule), long{removed}, std::move(reason)});
  }

  const SpaceOptions& options_;
  const SpaceContext& context_;
  Library& library_;
  Listing& listing_;
  std::optional<Result<vendor::LtMatmul>> matmul_;
};

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

// What the L2 model says of the config of --l2.
Result<int> predict_l2(const SpaceOptions& options, const std::vector<Problem>& problems,
                       const Target& target, const Session& session) {
  GEMMSMITH_TRY(const Config config, parse_config(options.l2, all_families()));
  Table table = make_l2_table();
  GEMMSMITH_TRY(const Sweep done, sweep(problems, [&](const Problem& problem) {
                  return add_l2_rows(config, {problem, target}, table);
                }));
  if (session.format == OutputFormat::kText && !session.quiet)
    talk("predicted for {} from an empty L2 (how near to the counters: docs/l2_model.md)\n",
         target.name);
  std::cout << table.render(session.format);
  return end(done, false);
}

Result<int> run(const SpaceOptions& options, const Session& session) {
  if (options.presets) {
    print_presets(session.format);
    return 0;
  }
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  GEMMSMITH_TRY(const Target target, known_target(options.target));
  if (!options.l2.empty()) return predict_l2(options, problems, target, session);
  GEMMSMITH_TRY(const std::vector<const Family*> families, chosen_families(options.family));
  Library library(session.settings.value("device"), target);
  if (!options.why.empty()) {
    GEMMSMITH_TRY(const Config config, parse_config(options.why, all_families()));
    Table table({"shape", "config", "rule", "reason"});
    GEMMSMITH_TRY(const Sweep done, sweep(problems, [&](const Problem& problem) -> Result<void> {
                    explain(config, {problem, target}, library, table);
                    return {};
                  }));
    std::cout << table.render(session.format);
    return end(done, false);
  }
  Printer printer(session.format, options.limit > 0);
  GEMMSMITH_TRY(const Sweep done, sweep(problems, [&](const Problem& problem) -> Result<void> {
                  const SpaceContext context{problem, target};
                  Listing listing;
                  Counter counter(options, context, library, listing);
                  for (const Family* family : families) GEMMSMITH_CHECK(counter.count(*family));
                  printer.print(context, listing);
                  return {};
                }));
  printer.finish();
  return end(done, false);
}

}  // namespace

Verb add_space(CLI::App& parent, Session& session) {
  auto options = std::make_shared<SpaceOptions>();
  CLI::App* app = parent.add_subcommand("space", "List the legal configs of a problem");
  app->footer(
      "Examples:\n"
      "  gemmsmith space --mnk 64_4096_64\n"
      "  gemmsmith space --mnk 4096_4096_4096 --why sm90_ws:w2.m128.n256.s5\n"
      "  gemmsmith space --mnk 8192_8192_64 --family sm80_mma --target a100 --limit 0\n"
      "  gemmsmith space --mnk 64_4096_64 --family cublaslt --device cuda:0\n"
      "  gemmsmith space --mnk 8192_8192_8192 --l2 sm90_ws:w2.m128.n256 --target h100\n"
      "cuBLASLt's configurations are those that its own check accepts on the device, where it is "
      "of the target's architecture; else those that no rule of ours forbids.");
  options->problem.add_to(*app);
  app->add_option("--target", options->target, "a100, h100 or h200 [h200]");
  app->add_option("--family", options->family, "Only this family: sm90_ws, sm80_mma or cublaslt");
  CLI::Option* const why =
      app->add_option("--why", options->why, "Name the rules that CONFIG breaks");
  app->add_option("--l2", options->l2,
                  "Predict CONFIG's L2 hits and memory traffic, and those of its other tile orders")
      ->excludes(why);
  add_whole_number(*app, "--limit", options->limit, "How many configs to list [20]", 0);
  app->add_flag("--kernels", options->kernels, "Compile-time parameters only: one line a kernel");
  app->add_flag("--presets", options->presets, "List the recommended presets");
  add_setting_options(*app, session, {"device"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
