#include "cli/plan_table_making.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/bench_session.h"
#include "cli/store_reading.h"
#include "compile/compiler.h"
#include "compile/cubin_cache.h"
#include "compile/kernel_source.h"
#include "plan/plan_table_writer.h"
#include "search/tuning.h"
#include "space/family.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::cli {
namespace {

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

plan::PlanTableWriter::Validation validation_of(const Winner& winner) {
  return {winner.chained_us, winner.chained_ratio, winner.foreign_ratio};
}

using Role = plan::PlanTableWriter::Role;

// Compiles winners that are kernels, or finds them compiled, and adds their plans.
struct KernelPlans {
  const compile::Compiler& compiler;
  const Target& target;
  const std::string& architecture;
  const std::string& pack_cubin;
  bool epilogues = false;

  Result<void> add(plan::PlanTableWriter& writer, const Winner& winner, Role role) const {
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
    if (epilogues) {
      GEMMSMITH_TRY(fused, fused_cubin(compiler, config, winner.problem, target, architecture));
    }
    return writer.add_kernel_plan(
        winner.problem, config, target,
        {kernel.cubin, "gemm", kernel.registers, kernel.static_shared_bytes, pack_cubin, fused},
        validation_of(winner), role);
  }
};

// Plans of the table at `path` for the keys of which the store knows nothing: where it was measured
// again, what was found then counts, that no plan won included.
Result<void> copy_others(const std::string& path, const plan::PlanTableOrigin& origin,
                         const Store& store, const Environment& environment,
                         plan::PlanTableWriter& writer) {
  GEMMSMITH_TRY(const plan::PlanTable table, plan::PlanTable::open(path));
  if (table.device_name() != origin.device_name ||
      table.compute_capability() != origin.compute_capability ||
      table.sm_count() != origin.sm_count || table.cublas_version() != origin.cublas_version ||
      table.compiler_version() != origin.compiler_version)
    return fail(
        ErrorCode::kBadInput,
        "--onto {}: it was made on {}, {} SMs, cublas {}, {}; this store's winners on {}, {} "
        "SMs, cublas {}, {}: they cannot share a table",
        path, table.device_name(), table.sm_count(), table.cublas_version(),
        table.compiler_version(), origin.device_name, origin.sm_count, origin.cublas_version,
        origin.compiler_version);
  GEMMSMITH_TRY(const std::vector<StoredWinner> winners, store.winners());
  std::set<plan::PlanKey> known;
  for (const StoredWinner& winner : winners)
    if (winner.environment == environment) known.insert(plan::key_of(winner.winner.problem));
  for (const plan::PlanEntry& entry : table.entries())
    if (entry.key.follows == 0 && known.count(entry.key) == 0)
      GEMMSMITH_CHECK(writer.add_copy(table, entry));
  return {};
}

}  // namespace

Result<void> write_plan_table(const Store& store, const Environment& environment,
                              const PlanTableOptions& options, const Session& session) {
  const std::string& file = options.file;
  GEMMSMITH_TRY(const DeviceInfo device, device_of(store, environment));
  GEMMSMITH_TRY(const std::string architecture,
                compile_architecture(device.target.compute_capability));
  GEMMSMITH_TRY(const compile::Compiler compiler,
                compile::Compiler::open(compile::CubinCache::open_default()));
  GEMMSMITH_TRY(const BenchSettings settings, bench_settings(session));
  const plan::PlanTableOrigin origin{device.target.name, device.target.compute_capability,
                                     device.target.sm_count, device.cublas_version,
                                     compiler.version()};
  plan::PlanTableWriter writer(origin);
  GEMMSMITH_TRY(const std::vector<Winner> winners, winners_to_ship(store, environment));
  if (winners.empty())
    return fail(ErrorCode::kBadInput, "{} holds no winner of {}: tune first", store.path().string(),
                environment.fingerprint);
  // Before anything is compiled: it may be no table.
  if (!options.onto.empty())
    GEMMSMITH_CHECK(copy_others(options.onto, origin, store, environment, writer));
  GEMMSMITH_TRY(const compile::KernelSource pack, compile::utility_source("pack.cu", architecture));
  GEMMSMITH_TRY(const compile::CompiledKernel pack_kernel, compiler.compile(pack));
  const KernelPlans kernel_plans{compiler, device.target, architecture, pack_kernel.cubin,
                                 options.epilogues};
  std::int64_t plans = 0;
  ProgressLine progress("plans", static_cast<std::int64_t>(winners.size()), session.quiet);
  for (const Winner& winner : winners) {
    GEMMSMITH_CHECK(go_on("writing " + file));
    progress.update(++plans, winner.config);
    if (winner.source != WinnerSource::kKernel) {
      GEMMSMITH_CHECK(writer.add_vendor_plan(
          winner.problem, winner.config,
          vendor::workspace_bound(winner.config, settings.workspace_bytes), validation_of(winner)));
      continue;
    }
    GEMMSMITH_CHECK(kernel_plans.add(writer, winner, Role::kPlan));
    GEMMSMITH_TRY(const auto rows, store.measurements(environment, winner.problem));
    if (const auto follower = follower_of(winner, rows); follower)
      GEMMSMITH_CHECK(kernel_plans.add(writer, *follower, Role::kFollower));
  }
  GEMMSMITH_CHECK(go_on("writing " + file));
  return writer.write(file);
}

}  // namespace gemmsmith::cli
