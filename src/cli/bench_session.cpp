#include "cli/bench_session.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/paths.h"
#include "base/progress.h"
#include "compile/cubin_cache.h"
#include "space/space.h"
#include "vendor/all_families.h"

namespace gemmsmith::cli {

bool is_recorded(const std::string& device) { return device.rfind("recorded:", 0) == 0; }

Result<std::filesystem::path> store_path(const Session& session) {
  if (const std::string& named = session.settings.value("store"); !named.empty())
    return std::filesystem::path(named);
  if (const auto directory = data_directory()) return *directory / "winners.db";
  return fail(ErrorCode::kEnvironment,
              "no place for the store: HOME is not set; pass --store FILE or set GEMMSMITH_STORE");
}

Result<BenchSettings> bench_settings(const Session& session) {
  BenchSettings settings;
  GEMMSMITH_TRY(const std::int64_t seed, session.settings.integer("seed", 0));
  // 32 MiB: what cuBLASLt's own samples give it on Hopper; less would handicap the baselines.
  GEMMSMITH_TRY(const std::int64_t mib, session.settings.integer("workspace_mib", 32));
  constexpr std::int64_t kMostMib = 1 << 16;
  if (mib > kMostMib)
    return fail(ErrorCode::kBadInput, "workspace_mib = {}: expected at most {}", mib, kMostMib);
  settings.seed = static_cast<std::uint64_t>(seed);
  settings.workspace_bytes = mib << 20;
  return settings;
}

Result<int> compile_threads(const Session& session) {
  GEMMSMITH_TRY(const std::int64_t threads, session.settings.integer("compile_threads", 0));
  constexpr std::int64_t kMostThreads = 256;
  if (threads > kMostThreads)
    return fail(ErrorCode::kBadInput, "compile_threads = {}: expected at most {}", threads,
                kMostThreads);
  if (threads > 0) return static_cast<int>(threads);
  // Each compiling thread holds about 60 MB; more than 8 would break the promise on memory.
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 8U));
}

Result<std::map<std::string, std::string>> compile_ahead(const Session& session,
                                                         std::span<const KernelRequest> requests,
                                                         const std::string& architecture) {
  std::map<std::string, std::string> hashes;
  if (requests.empty()) return hashes;
  GEMMSMITH_TRY(const compile::Compiler compiler,
                compile::Compiler::open(compile::CubinCache::open_default()));
  std::vector<compile::KernelSource> sources;
  std::vector<std::string> keys;
  for (const KernelRequest& request : requests) {
    GEMMSMITH_TRY(compile::KernelSource source,
                  compile::kernel_source(request.config, request.signature, architecture));
    sources.push_back(std::move(source));
    keys.push_back(kernel_name(request.config, request.signature));
  }
  GEMMSMITH_TRY(const int threads, compile_threads(session));
  ProgressLine progress("kernels", static_cast<std::int64_t>(sources.size()), session.quiet);
  std::int64_t done = 0;
  GEMMSMITH_TRY(const std::vector<compile::CompiledKernel> kernels,
                compiler.compile_all(sources, threads,
                                     [&](std::size_t index, const compile::CompiledKernel&) {
                                       progress.update(++done, sources[index].name);
                                     }));
  for (std::size_t i = 0; i < kernels.size(); ++i) hashes[keys[i]] = kernels[i].hash;
  return hashes;
}

std::function<std::string(const Config&, const Problem&)> kernel_identities(
    std::map<std::string, std::string> compiled, std::string architecture) {
  struct State {
    std::map<std::string, std::string> known;
    std::string architecture;
    std::optional<compile::Compiler> compiler;  // opened when the first unknown kernel comes
  };
  auto state = std::make_shared<State>(State{std::move(compiled), std::move(architecture), {}});
  return [state](const Config& config, const Problem& problem) -> std::string {
    const Signature signature = signature_of(problem);
    const auto [place, is_new] = state->known.try_emplace(kernel_name(config, signature));
    if (!is_new) return place->second;
    if (!state->compiler) {
      auto opened = compile::Compiler::open(compile::CubinCache::open_default());
      if (!opened) return {};
      state->compiler = std::move(*opened);
    }
    const auto source = compile::kernel_source(config, signature, state->architecture);
    if (source) place->second = state->compiler->hash_of(*source);
    return place->second;
  };
}

Result<Config> named_config(const std::string& text, const Problem& problem, const Target& target) {
  GEMMSMITH_TRY(Config config, parse_config(text, all_families()));
  if (const Constraint* broken = broken_rule({problem, target}, config))
    return fail(ErrorCode::kBadInput, "{} is not legal for {}: {} ({})", text, describe(problem),
                broken->reason, broken->id);
  return config;
}

}  // namespace gemmsmith::cli
