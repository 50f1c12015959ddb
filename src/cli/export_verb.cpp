// gemmsmith export: the plans of chosen shapes as a C library that needs the CUDA driver only.
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files.h"
#include "base/log.h"
#include "base/paths.h"
#include "cli/verb.h"
#include "export/exported_library.h"
#include "export/library_folder.h"

namespace gemmsmith::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  ProblemOptions problem;
  std::string plans;
  std::string out;
  std::string name = "gemms";
};

Result<std::string> plan_file(const std::string& named) {
  if (!named.empty()) return named;
  const std::vector<std::string> files = plan_files();
  if (files.size() == 1) return files.front();
  return fail(
      ErrorCode::kBadInput,
      "{}: name the plan table with --plans (gemmsmith store plan-table makes one)",
      files.empty()
          ? "no plan table in GEMMSMITH_PLANS, the data folder's plans/ or the installation"
          : "several plan tables in GEMMSMITH_PLANS, the data folder's plans/ or the installation");
}

// That files can be written into the folder, which need not be there yet.
Result<void> check_folder(const fs::path& folder) {
  std::error_code error;
  fs::path there = folder;
  while (!fs::exists(there, error)) there = there.has_parent_path() ? there.parent_path() : ".";
  if (!fs::is_directory(there, error))
    return fail(ErrorCode::kEnvironment, "cannot make the folder {}: {} is no folder",
                folder.string(), there.string());
  return check_can_write(there / "exported");
}

Result<int> run(const ExportOptions& options, const Session& session) {
  GEMMSMITH_CHECK(check_folder(options.out));
  GEMMSMITH_TRY(const std::vector<Problem> problems, options.problem.problems());
  GEMMSMITH_TRY(const std::string file, plan_file(options.plans));
  GEMMSMITH_TRY(const plan::PlanTable table, plan::PlanTable::open(file));
  GEMMSMITH_TRY(const exporting::ExportedLibrary library,
                exporting::export_library(table, problems, options.name));
  GEMMSMITH_CHECK(exporting::write_library(options.out, library));
  Table written({"file", "bytes"});
  for (const auto& [name, bytes] : library.files)
    written.add({(fs::path(options.out) / name).string(), static_cast<std::int64_t>(bytes.size())});
  std::cout << written.render(session.format);
  if (!session.quiet) {
    talk("{} of {} problems exported\n", library.plans, problems.size());
    for (const exporting::LeftOut& left : library.left_out)
      talk("left out: {}: {}\n", describe(left.problem), left.reason);
  }
  return 0;
}

}  // namespace

Verb add_export(CLI::App& parent, Session& session) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* app = parent.add_subcommand(
      "export", "Write the plans of chosen shapes as a C library that needs the CUDA driver only");
  app->footer(
      "Examples:\n"
      "  gemmsmith export --shapes my_shapes.csv --plans h200.plans --out my_gemms\n"
      "  cmake -S my_gemms -B build && cmake --build build");
  options->problem.add_to(*app);
  app->add_option("--plans", options->plans,
                  "The plan table (default: GEMMSMITH_PLANS, else that of the data folder's plans/ "
                  "or the installation)");
  app->add_option("--out", options->out,
                  "The folder to make: a new or an empty one, or an earlier export")
      ->required();
  app->add_option("--name", options->name, "Prefix of files and functions (default gemms)");
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
