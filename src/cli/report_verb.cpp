// gemmsmith report: how a store or a recording compares with the library: as text, Markdown, JSON
// and CSV on stdout, or as one HTML file that people look at.
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/bench_session.h"
#include "cli/store_reading.h"
#include "cli/verb.h"
#include "device/device_json.h"
#include "device/recording.h"
#include "report/html_report.h"
#include "report/latest_rows.h"
#include "report/scoreboard.h"

namespace gemmsmith::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> recordings;
  std::string environment;
  bool markdown = false;
  std::string html;
  std::vector<std::string> curves;
};

struct Material {
  std::vector<Measurement> rows;
  Result<report::ReportContext> context;  // nobody misses it in text and tables of means
};

Result<void> check_is_not_recording(const std::string& file, const std::string& recording) {
  for (const std::filesystem::path& part :
       {std::filesystem::path(recording), sidecar_path(recording)}) {
    std::error_code error;
    if (std::filesystem::equivalent(file, part, error))
      return fail(ErrorCode::kBadInput, "{} is the recording itself ({}): name another file", file,
                  part.string());
  }
  return {};
}

// Floors and roofs are the device's, so all recordings must be of one kind of device.
Result<report::ReportContext> context_of_recordings(const std::vector<std::string>& recordings) {
  report::ReportContext context;
  for (const std::string& recording : recordings) {
    GEMMSMITH_TRY(const std::string sidecar, read_sidecar(recording));
    GEMMSMITH_TRY(const DeviceInfo device, device_from_sidecar(sidecar));
    if (const auto checked = check_plausible(device); !checked)
      return fail(ErrorCode::kBadInput, "{}: {}", sidecar_path(recording).string(),
                  checked.error().what);
    if (!context.source.empty() && device.fingerprint() != context.device.fingerprint())
      return fail(ErrorCode::kBadInput,
                  "{} was measured on {}, {} on {}: report on them one by one", recording,
                  device.fingerprint(), context.source, context.device.fingerprint());
    context.device = device;
    GEMMSMITH_TRY(std::vector<report::RunConditions> runs, report::runs_of_sidecar(sidecar));
    std::move(runs.begin(), runs.end(), std::back_inserter(context.runs));
    context.source += (context.source.empty() ? "" : ", ") + recording;
  }
  return context;
}

Result<Material> read_recorded(const ReportOptions& options) {
  std::vector<std::vector<Measurement>> recordings;
  for (const std::string& recording : options.recordings) {
    if (!options.html.empty()) GEMMSMITH_CHECK(check_is_not_recording(options.html, recording));
    GEMMSMITH_TRY(std::vector<Measurement> rows, read_recording(recording));
    recordings.push_back(std::move(rows));
  }
  return Material{report::latest_rows(std::move(recordings)),
                  context_of_recordings(options.recordings)};
}

Result<Material> read_stored(const ReportOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::filesystem::path path, store_path(session));
  if (!options.html.empty()) GEMMSMITH_CHECK(check_is_not_store(options.html, path));
  GEMMSMITH_TRY(const Store store, Store::open(path, Store::Mode::kReadOnly));
  GEMMSMITH_TRY(const Environment environment, only_environment(store, options.environment));
  GEMMSMITH_TRY(std::vector<StoredMeasurement> stored, store.all_measurements());
  Material material{{}, context_of(store, environment)};
  for (StoredMeasurement& row : stored)
    if (row.environment == environment) material.rows.push_back(std::move(row.measurement));
  warn_of_damage(store);
  return material;
}

Result<int> write_page(const ReportOptions& options, const Material& material,
                       const report::Scoreboard& board, const Session& session) {
  GEMMSMITH_TRY(report::ReportContext context, material.context);
  if (board.shapes.empty())
    return fail(ErrorCode::kBadInput,
                "{} holds no shape with final measurements of lt_tuned: nothing to draw",
                context.source);
  // As typed, but for where the program lies.
  context.command = fmt::format(
      "gemmsmith {}", fmt::join(session.arguments.begin() + 1, session.arguments.end(), " "));
  for (const std::string& file : options.curves) {
    GEMMSMITH_TRY(std::vector<report::LearningCurve> curves, report::read_learning_curves(file));
    std::move(curves.begin(), curves.end(), std::back_inserter(context.curves));
  }
  const std::string page = report::to_html(material.rows, board, context);
  GEMMSMITH_CHECK(go_on("writing " + options.html));
  GEMMSMITH_CHECK(write_file_atomic(options.html, page));
  if (!session.quiet)
    talk("{}: {} shape{}, {:.1f} MB; open it in a browser\n", options.html, board.shapes.size(),
         board.shapes.size() == 1 ? "" : "s", static_cast<double>(page.size()) / 1e6);
  return 0;
}

Result<int> run(const ReportOptions& options, const Session& session) {
  if (!options.html.empty()) GEMMSMITH_CHECK(check_can_write(options.html));
  GEMMSMITH_TRY(const Material material, options.recordings.empty() ? read_stored(options, session)
                                                                    : read_recorded(options));
  GEMMSMITH_CHECK(go_on("reading the measurements"));
  report::Scoreboard board = report::make_scoreboard(material.rows);
  if (material.context)
    report::add_floors(board, material.context->device.target,
                       report::smallest_empty_us(material.context->runs));
  GEMMSMITH_CHECK(go_on("making the scoreboard"));
  if (!options.html.empty()) return write_page(options, material, board, session);
  std::cout << (options.markdown                        ? report::to_markdown(board)
                : session.format == OutputFormat::kJson ? report::to_json(board)
                : session.format == OutputFormat::kCsv  ? report::to_csv(board)
                                                        : report::to_text(board));
  return 0;
}

}  // namespace

Verb add_report(CLI::App& parent, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* app = parent.add_subcommand(
      "report", "Compare a store or a recording with the library: a scoreboard, or a page");
  app->footer(
      "Examples:\n"
      "  gemmsmith report --store grid.db\n"
      "  gemmsmith report --recording data/recordings/h200/grid1000_f16_f32_tn.csv.zst --markdown\n"
      "  gemmsmith report --store grid.db --html report.html     one file, opens in any browser\n"
      "  gemmsmith report --store grid.db --html report.html \\\n"
      "                   --curves bench/search/results/random_0of5.csv");
  CLI::Option* const recording = app->add_option(
      "--recording", options->recordings,
      "A recording instead of the store; of several, each shape's rows are those of "
      "the last that holds it");
  app->add_option("--environment", options->environment, "Text that picks one environment")
      ->excludes(recording);
  CLI::Option* const markdown = app->add_flag("--markdown", options->markdown, "Markdown tables");
  CLI::Option* const html =
      app->add_option("--html", options->html,
                      "Write one self-contained HTML file instead: plots, and tables that sort")
          ->excludes(markdown);
  app->add_option("--curves", options->curves,
                  "Learning curves for the page: tables of bench/search/compare.py")
      ->needs(html);
  add_setting_options(*app, session, {"store"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
