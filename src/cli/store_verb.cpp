// gemmsmith store: look into, move and ship what tuning kept.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/bench_session.h"
#include "cli/counted_table.h"
#include "cli/store_reading.h"
#include "cli/verb.h"
#include "compile/cubin_cache.h"
#include "plan/plan_table_writer.h"

namespace gemmsmith::cli {
namespace {

struct StoreOptions {
  std::string action;
  std::string file;
  std::string device;
  bool epilogues = false;  // of plan-table
  CountedOptions counted;
};

Result<int> show(const Store& store, OutputFormat format, const std::string& fingerprint) {
  GEMMSMITH_TRY(std::vector<StoredWinner> winners, store.winners());
  if (!fingerprint.empty()) {
    GEMMSMITH_TRY(const Environment environment, only_environment(store, fingerprint));
    std::erase_if(winners,
                  [&](const StoredWinner& stored) { return stored.environment != environment; });
  }
  Table table({"shape", "type", "acc", "layout", "source", "config", "us", "ratio", "foreign_ratio",
               "run", "note"});
  for (const StoredWinner& stored : winners) {
    const Winner& winner = stored.winner;
    table.add({shape_name(winner.problem), name(winner.problem.type),
               name(winner.problem.accumulator), name(winner.problem.layout), name(winner.source),
               winner.config, Cell(winner.chained_us, 2), Cell(winner.chained_ratio, 3),
               Cell(winner.foreign_ratio, 3), winner.run, winner.note});
  }
  std::cout << table.render(format);
  warn_of_damage(store);
  return 0;
}

Result<int> show_counters(const Store& store, const Session& session, const StoreOptions& options) {
  GEMMSMITH_TRY(const CountedView view, counted_view(options.counted));
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
                  read_counted(store, environment, nullptr));
    configs.insert(configs.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  std::cout << counted_table(configs, view, session.format).render(session.format);
  if (configs.empty() && !session.quiet)
    talk("nothing was counted: 'gemmsmith tune --counters' counts the finalists of each shape\n");
  warn_of_damage(store);
  return 0;
}

// cuBLASLt's split-K algorithms reduce through a workspace; the others need none. (The runtime asks
// the library again before it uses a plan.)
std::int64_t vendor_workspace_bytes(const std::string& config, std::int64_t limit) {
  return config.find(".k") == std::string::npos ? 0 : limit;
}

// A plan serves every problem of its key, so of those that share one the plainest is kept: packed,
// and with the scalars that change nothing.
int plainness(const Problem& p) {
  const bool is_packed = p.lda == packed_lda(p) && p.ldb == packed_ldb(p) &&
                         p.ldc == packed_ldd(p) && p.ldd == packed_ldd(p) &&
                         p.stride_a == default_stride_a(p) && p.stride_b == default_stride_b(p) &&
                         p.stride_c == default_stride_c(p) && p.stride_d == default_stride_d(p);
  return 2 * is_packed + (p.alpha == 1 && (p.beta == 0 || p.beta == 1));
}

// An environment's winners that have a plan, one a key.
Result<std::vector<Winner>> winners_to_ship(const Store& store, const Environment& environment) {
  GEMMSMITH_TRY(const std::vector<StoredWinner> stored, store.winners());
  std::vector<Winner> winners;
  for (const StoredWinner& winner : stored)
    if (winner.environment == environment && !winner.winner.config.empty())
      winners.push_back(winner.winner);
  std::stable_sort(winners.begin(), winners.end(), [](const Winner& a, const Winner& b) {
    return plainness(a.problem) > plainness(b.problem);
  });
  std::map<plan::PlanKey, const Winner*> kept;
  std::vector<Winner> shipped;
  shipped.reserve(winners.size());  // `kept` points into it
  for (Winner& winner : winners) {
    const auto [place, is_new] = kept.try_emplace(plan::key_of(winner.problem));
    if (is_new) {
      place->second = &shipped.emplace_back(std::move(winner));
      continue;
    }
    talk("left out: the plan of {}; that of {} serves it\n", describe(winner.problem),
         describe(place->second->problem));
  }
  return shipped;
}

// The cubin that serves the winner's problem with epilogues. "" where a constraint forbids the
// config with one, or its kernel spills: epilogues are then left to the library.
Result<std::string> fused_cubin(const compile::Compiler& compiler, const Config& config,
                                const Problem& problem, const Target& target,
                                const std::string& architecture) {
  Problem fused = problem;
  fused.has_bias = true;
  if (broken_rule({fused, target}, config) != nullptr) return std::string();
  GEMMSMITH_TRY(const compile::KernelSource source,
                compile::kernel_source(config, signature_of(fused), architecture));
  GEMMSMITH_TRY(compile::CompiledKernel kernel, compiler.compile(source));
  if (kernel.status == compile::KernelStatus::kOk) return std::move(kernel.cubin);
  talk("without epilogues: {} of {}: {}\n", to_text(config), describe(problem),
       compile::name(kernel.status));
  return std::string();
}

// The winners as one file for the runtime, with the cubins of our kernels inside.
Result<int> write_plan_table(const Store& store, const Environment& environment,
                             const StoreOptions& options, const Session& session) {
  const std::string& file = options.file;
  GEMMSMITH_TRY(const DeviceInfo device, device_of(store, environment));
  GEMMSMITH_TRY(const std::string architecture,
                compile_architecture(device.target.compute_capability));
  GEMMSMITH_TRY(const compile::Compiler compiler,
                compile::Compiler::open(compile::CubinCache::open_default()));
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  plan::PlanTableWriter writer({device.target.name, device.target.compute_capability,
                                device.target.sm_count, device.cublas_version, compiler.version()});
  GEMMSMITH_TRY(const std::vector<Winner> winners, winners_to_ship(store, environment));
  if (winners.empty())
    return fail(ErrorCode::kBadInput, "{} holds no winner of {}: tune first", store.path().string(),
                environment.fingerprint);
  GEMMSMITH_TRY(const compile::KernelSource pack, compile::utility_source("pack.cu", architecture));
  GEMMSMITH_TRY(const compile::CompiledKernel pack_kernel, compiler.compile(pack));
  std::int64_t plans = 0;
  ProgressLine progress("plans", static_cast<std::int64_t>(winners.size()), session.quiet);
  for (const Winner& winner : winners) {
    GEMMSMITH_CHECK(go_on("writing " + file));
    const plan::PlanTableWriter::Validation validation{winner.chained_us, winner.chained_ratio,
                                                       winner.foreign_ratio};
    progress.update(++plans, winner.config);
    if (winner.source != WinnerSource::kKernel) {
      GEMMSMITH_CHECK(writer.add_vendor_plan(
          winner.problem, winner.config,
          vendor_workspace_bytes(winner.config, settings.workspace_bytes), validation));
      continue;
    }
    GEMMSMITH_TRY(const Config config, parse_config(winner.config, kernel_families()));
    GEMMSMITH_TRY(const compile::KernelSource source,
                  compile::kernel_source(config, signature_of(winner.problem), architecture));
    GEMMSMITH_TRY(const compile::CompiledKernel kernel, compiler.compile(source));
    if (kernel.status != compile::KernelStatus::kOk)
      return fail(ErrorCode::kCompile, "{} of {}: {}", winner.config, describe(winner.problem),
                  compile::name(kernel.status));
    if (!winner.kernel_hash.empty() && kernel.hash != winner.kernel_hash)
      return fail(ErrorCode::kBadInput,
                  "{} of {} was measured with another kernel text or compiler than this program's; "
                  "tune again, or use the program that tuned",
                  winner.config, describe(winner.problem));
    std::string fused;
    if (options.epilogues) {
      GEMMSMITH_TRY(fused,
                    fused_cubin(compiler, config, winner.problem, device.target, architecture));
    }
    GEMMSMITH_CHECK(writer.add_kernel_plan(winner.problem, config, device.target,
                                           {kernel.cubin, "gemm", kernel.registers,
                                            kernel.static_shared_bytes, pack_kernel.cubin, fused},
                                           validation));
  }
  GEMMSMITH_CHECK(go_on("writing " + file));
  GEMMSMITH_CHECK(writer.write(file));
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
  if (options.epilogues && options.action != "plan-table")
    return fail(ErrorCode::kBadInput, "store {}: --epilogues is for plan-table", options.action);
  const bool takes_all = writes || options.action == "export";
  if (takes_all && !options.device.empty())
    return fail(ErrorCode::kBadInput, "store {} takes every environment: leave out --environment",
                options.action);
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
    if (options.action == "plan-table")
      return write_plan_table(store, environment, options, session);
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
      "  gemmsmith store plan-table h200.plans     one file for gemmsmithLoadPlanTable");
  app->add_option("action", options->action,
                  "show, counters, export, import, recording or plan-table")
      ->required()
      ->check(CLI::IsMember({"show", "counters", "export", "import", "recording", "plan-table"}));
  app->add_option("file", options->file, "The file to write or, with import, to read");
  app->add_option("--environment", options->device,
                  "Text that picks one environment (device, driver, libraries)");
  app->add_flag("--epilogues", options->epilogues,
                "plan-table: with kernels that add a bias and apply an activation");
  options->counted.add_to(*app);
  add_setting_options(*app, session, {"store", "workspace_mib"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
