// gemmsmith store: look into, move and ship what tuning kept.
#include <cmath>
#include <iostream>
#include <iterator>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/bench_session.h"
#include "cli/counted_table.h"
#include "cli/plan_table_making.h"
#include "cli/store_reading.h"
#include "cli/verb.h"
#include "search/tuning.h"

namespace gemmsmith::cli {
namespace {

struct StoreOptions {
  std::string action;
  std::string file;
  std::string device;
  bool epilogues = false;  // of plan-table, as is
  std::string onto;
  CountedOptions counted;
};

Result<int> show(const Store& store, OutputFormat format, const std::string& fingerprint) {
  GEMMSMITH_TRY(std::vector<StoredWinner> winners, store.winners());
  if (!fingerprint.empty()) {
    GEMMSMITH_TRY(const Environment environment, only_environment(store, fingerprint));
    std::erase_if(winners,
                  [&](const StoredWinner& stored) { return stored.environment != environment; });
  }
  // All figures are the plan's but for those of the follower, which serves instead of it right
  // behind another kernel of ours.
  Table table({"shape", "type", "acc", "layout", "source", "config", "us", "ratio", "foreign_ratio",
               "follower", "follower_us", "follower_ratio", "run", "note"});
  for (const StoredWinner& stored : winners) {
    const Winner& winner = stored.winner;
    GEMMSMITH_CHECK(go_on("reading " + store.path().string()));
    GEMMSMITH_TRY(const auto rows, store.measurements(stored.environment, winner.problem));
    const auto follower = follower_of(winner, rows);
    const double none = std::nan("");
    table.add({shape_name(winner.problem), name(winner.problem.type),
               name(winner.problem.accumulator), name(winner.problem.layout), name(winner.source),
               winner.config, Cell(winner.chained_us, 2), Cell(winner.chained_ratio, 3),
               Cell(winner.foreign_ratio, 3), follower ? follower->config : "",
               Cell(follower ? follower->chained_us : none, 2),
               Cell(follower ? follower->chained_ratio : none, 3), winner.run, winner.note});
  }
  std::cout << table.render(format);
  warn_of_damage(store);
  return 0;
}

Result<int> show_counters(const Store& store, const Session& session, const StoreOptions& options) {
  GEMMSMITH_TRY(const CountedView view, counted_view(options.counted));
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  std::vector<Environment> environments;
  if (options.device.empty()) {
    GEMMSMITH_TRY(environments, store.environments());
  } else {
    GEMMSMITH_TRY(const Environment environment, only_environment(store, options.device));
    environments.push_back(environment);
  }
  std::vector<report::CountedConfig> configs;
  for (const Environment& environment : environments) {
    GEMMSMITH_TRY(std::vector<report::CountedConfig> found,
                  read_counted(store, environment, nullptr, view, settings.workspace_bytes));
    configs.insert(configs.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  std::cout << counted_table(configs, view, session.format).render(session.format);
  if (configs.empty() && !session.quiet)
    talk("nothing was counted: 'gemmsmith tune --counters' counts the finalists of each shape\n");
  warn_of_damage(store);
  return 0;
}

Result<int> run(const StoreOptions& options, const Session& session) {
  GEMMSMITH_TRY(const std::filesystem::path path, store_path(session));
  const bool writes = options.action == "import";
  GEMMSMITH_TRY(Store store,
                Store::open(path, writes ? Store::Mode::kReadWrite : Store::Mode::kReadOnly));
  if (options.action == "counters") return show_counters(store, session, options);
  if (options.counted.asks_anything())
    return fail(ErrorCode::kBadInput,
                "store {}: --objectives, --reward and --monitor-policy are for store counters",
                options.action);
  if (options.action == "show") return show(store, session.format, options.device);
  if (options.file.empty())
    return fail(ErrorCode::kBadInput, "store {}: name the file", options.action);
  GEMMSMITH_CHECK(check_is_not_store(options.file, path));
  if ((options.epilogues || !options.onto.empty()) && options.action != "plan-table")
    return fail(ErrorCode::kBadInput, "store {}: --epilogues and --onto are for plan-table",
                options.action);
  const bool takes_all = writes || options.action == "export";
  if (takes_all && !options.device.empty())
    return fail(ErrorCode::kBadInput, "store {} takes every environment: leave out --environment",
                options.action);
  // Reading a large store, and compiling its winners, takes a while.
  if (!writes) GEMMSMITH_CHECK(check_can_write(options.file));
  if (options.action == "export") {
    GEMMSMITH_CHECK(store.export_json_lines(options.file));
  } else if (options.action == "import") {
    GEMMSMITH_TRY(const ImportReport report, store.import_json_lines(options.file));
    if (!session.quiet)
      talk(
          "{} measurements, {} winners, {} counted launches, {} runs imported; {} were there "
          "already\n",
          report.measurements, report.winners, report.counters, report.runs, report.already_there);
  } else {
    GEMMSMITH_TRY(const Environment environment, only_environment(store, options.device));
    GEMMSMITH_CHECK(check_is_measured(environment));
    if (options.action == "plan-table")
      GEMMSMITH_CHECK(write_plan_table(store, environment,
                                       {options.file, options.epilogues, options.onto}, session));
    else
      GEMMSMITH_CHECK(store.export_recording(environment, options.file));
  }
  warn_of_damage(store);
  return 0;
}

}  // namespace

Verb add_store(CLI::App& parent, Session& session) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* app =
      parent.add_subcommand("store", "Show, export, import, record or ship what is kept");
  app->footer(
      "Examples:\n"
      "  gemmsmith store show --store grid.db\n"
      "  gemmsmith store counters --objectives time,l2_hit_rate\n"
      "  gemmsmith store export winners.jsonl\n"
      "  gemmsmith store import winners.jsonl --store fleet.db\n"
      "  gemmsmith store recording data/recordings/h200/mine.csv.zst\n"
      "  gemmsmith store plan-table h200.plans     one file for gemmsmithLoadPlanTable\n"
      "  gemmsmith store plan-table new.plans --onto h200.plans   and what that one knew\n"
      "show: config, us (back to back), ratio and foreign_ratio are the plan's. Right behind "
      "another\n"
      "kernel of ours its follower serves instead, where there is one: follower, follower_us and\n"
      "follower_ratio, back to back.");
  app->add_option("action", options->action,
                  "show, counters, export, import, recording or plan-table")
      ->required()
      ->check(CLI::IsMember({"show", "counters", "export", "import", "recording", "plan-table"}));
  app->add_option("file", options->file, "The file to write or, with import, to read");
  app->add_option("--environment", options->device,
                  "Text that picks one environment (device, driver, libraries)");
  app->add_flag("--epilogues", options->epilogues,
                "plan-table: with kernels that add a bias and apply an activation");
  app->add_option("--onto", options->onto,
                  "plan-table: keep this table's plans for whatever the store knows nothing of");
  options->counted.add_to(*app);
  add_setting_options(*app, session, {"store", "workspace_mib"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
