// gemmsmith compile: every kernel that the constraints admit, compiled without a GPU; a spill or a
// serialised wgmma is a bad result.
#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/statistics.h"
#include "cli/bench_session.h"
#include "cli/number_options.h"
#include "cli/verb.h"
#include "compile/compiler.h"
#include "compile/cubin_cache.h"
#include "policy/analytic_ranker.h"
#include "space/space.h"

namespace gemmsmith::cli {
namespace {

struct CompileOptions {
  ProblemOptions problem;
  std::string targets = "sm_90a,sm_80";
  std::string family;
  std::vector<std::string> configs;
  int sample = 0;
  int ranked = 0;
  bool all_types = false;
  bool all_layouts = false;
};

struct Task {
  Config config;
  Signature signature;
  std::string architecture;
};

Result<Target> target_of(const std::string& architecture) {
  if (architecture == "sm_90a") return known_target("h200");
  if (architecture == "sm_80") return known_target("a100");
  return fail(ErrorCode::kBadInput, "--target '{}': expected sm_90a, sm_80 or both joined by ','",
              architecture);
}

// The rule that forbids the config whatever the problem; null where some problem allows it.
const Constraint* always_broken(const Config& config, const std::vector<Problem>& problems,
                                const Target& target) {
  for (const Problem& problem : problems)
    if (broken_rule({problem, target}, config) == nullptr) return nullptr;
  return broken_rule({problems.front(), target}, config);
}

// Those of the flags, or all that these ask for.
std::vector<Signature> signatures_of(const CompileOptions& options, const Problem& defaults) {
  std::vector<std::pair<DataType, DataType>> types = {{defaults.type, defaults.accumulator}};
  if (options.all_types)
    types = {{DataType::kF16, DataType::kF32},
             {DataType::kBf16, DataType::kF32},
             {DataType::kF16, DataType::kF16}};
  std::vector<Layout> layouts = {defaults.layout};
  if (options.all_layouts) layouts = {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT};
  std::vector<Signature> signatures;
  for (const auto& [type, accumulator] : types)
    for (const Layout layout : layouts) {
      Signature signature = {type, accumulator, layout, defaults.is_batched()};
      for (const bool f32_output : {false, true}) {
        // All types: both outputs, or those of f32 where they were asked for.
        const bool is_wanted = !options.all_types ? f32_output == defaults.f32_output
                               : f32_output       ? accumulator == DataType::kF32
                                                  : !defaults.f32_output;
        signature.f32_output = f32_output;
        if (is_wanted) signatures.push_back(signature);
      }
    }
  return signatures;
}

Result<std::vector<Task>> tasks_of(const CompileOptions& options, std::uint64_t seed) {
  GEMMSMITH_TRY(const Problem defaults, options.problem.defaults());
  std::vector<Task> tasks;
  std::set<std::string> targets;
  std::stringstream list(options.targets);
  for (std::string architecture; std::getline(list, architecture, ',');) {
    if (!targets.insert(architecture).second) continue;  // named twice, compiled once
    GEMMSMITH_TRY(const Target target, target_of(architecture));
    for (const Signature& signature : signatures_of(options, defaults)) {
      const std::vector<Problem> roomy = roomy_problems(signature);
      if (!options.configs.empty()) {
        for (const std::string& text : options.configs) {
          GEMMSMITH_TRY(const Config config, parse_config(text, kernel_families()));
          const Constraint* const broken = always_broken(config, roomy, target);
          // Asked for both targets, a Hopper kernel is compiled for Hopper.
          if (broken != nullptr && broken->id == "arch_is_sm90") continue;
          if (broken != nullptr)
            return fail(ErrorCode::kBadInput, "{} is not legal on {}: {} ({})", text, target.name,
                        broken->reason, broken->id);
          tasks.push_back({config, signature, architecture});
        }
        continue;
      }
      if (options.ranked > 0) {
        GEMMSMITH_TRY(std::vector<Problem> problems, options.problem.problems());
        std::set<std::string> seen;
        for (Problem& wanted : problems) {
          if (options.all_types) {  // else each shape has its own, as a list may say
            wanted.type = signature.type;
            wanted.accumulator = signature.accumulator;
            wanted.f32_output = signature.f32_output;
          }
          GEMMSMITH_CHECK(go_on("choosing what to compile"));
          for (const Config& config : policy::ranked_configs(wanted, target, options.ranked, 4))
            if (seen.insert(kernel_name(config, signature_of(wanted))).second)
              tasks.push_back({config, signature_of(wanted), architecture});
        }
        continue;
      }
      for (const Family* family : kernel_families()) {
        if (!options.family.empty() && family->name != options.family) continue;
        std::set<std::string> seen;
        for (const Problem& problem : roomy) {
          GEMMSMITH_CHECK(go_on("choosing what to compile"));
          for (const Config& config : kernels_of(*family, {problem, target}))
            if (seen.insert(kernel_text(config)).second)
              tasks.push_back({config, signature, architecture});
        }
      }
    }
  }
  if (options.sample > 0 && static_cast<std::size_t>(options.sample) < tasks.size()) {
    std::mt19937_64 random(seed);
    std::shuffle(tasks.begin(), tasks.end(), random);
    tasks.resize(static_cast<std::size_t>(options.sample));
  }
  if (tasks.empty())
    return fail(ErrorCode::kBadInput, "nothing to compile: no kernel of {} is for {}",
                !options.family.empty()    ? "--family " + options.family
                : !options.configs.empty() ? "--config " + options.configs.front()
                                           : "any family",
                options.targets);
  return tasks;
}

// Kernels whose texts and code are held at once: a whole space has gigabytes of them.
constexpr std::size_t kAtOnce = 512;

// What a kernel took that did not come from the cache, on a thread that may share its core; empty
// where all did.
std::string pace_of(const std::vector<std::optional<compile::CompiledKernel>>& finished,
                    int threads) {
  std::vector<double> seconds;
  for (const auto& kernel : finished)
    if (kernel && !kernel->from_cache) seconds.push_back(kernel->compile_s);
  if (seconds.empty()) return "";
  return fmt::format("; {} compiled now on {} thread{}: median {:.2f} s, longest {:.2f} s",
                     seconds.size(), threads, threads == 1 ? "" : "s", median(seconds),
                     *std::max_element(seconds.begin(), seconds.end()));
}

Result<int> run(const CompileOptions& options, const Session& session) {
  GEMMSMITH_TRY(const int threads, compile_threads(session));
  GEMMSMITH_TRY(const std::int64_t seed, session.settings.integer("seed", 0));
  GEMMSMITH_TRY(const compile::Compiler compiler,
                compile::Compiler::open(compile::CubinCache::open_default()));
  GEMMSMITH_TRY(const std::vector<Task> tasks, tasks_of(options, static_cast<std::uint64_t>(seed)));

  ProgressLine progress("kernels", static_cast<std::int64_t>(tasks.size()), session.quiet);
  std::int64_t done = 0;
  std::vector<std::optional<compile::CompiledKernel>> finished(tasks.size());
  std::optional<Error> stopped;
  for (std::size_t begin = 0; begin < tasks.size() && !stopped; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, tasks.size());
    std::vector<compile::KernelSource> sources;
    for (std::size_t i = begin; i < end; ++i) {
      GEMMSMITH_CHECK(go_on("writing kernel texts"));
      GEMMSMITH_TRY(
          compile::KernelSource source,
          compile::kernel_source(tasks[i].config, tasks[i].signature, tasks[i].architecture));
      sources.push_back(std::move(source));
    }
    const auto on_done = [&](std::size_t index, const compile::CompiledKernel& kernel) {
      finished[begin + index] = kernel;
      finished[begin + index]->cubin = {};
      progress.update(++done, sources[index].name);
    };
    const auto compiled = compiler.compile_all(sources, threads, on_done);
    if (!compiled && compiled.error().code != ErrorCode::kInterrupted)
      return tl::unexpected<Error>(compiled.error());
    if (!compiled)
      stopped = Error{ErrorCode::kInterrupted,
                      fmt::format("compiling stopped after {} of {} kernels; they are cached", done,
                                  tasks.size())};
  }

  Table table({"kernel", "type", "acc", "out", "layout", "target", "status", "registers",
               "spill_bytes", "compile_s", "cached"});
  int bad = 0;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    if (!finished[i]) continue;
    const compile::CompiledKernel& kernel = *finished[i];
    if (kernel.status != compile::KernelStatus::kOk) ++bad;
    const Signature& signature = tasks[i].signature;
    table.add({kernel_text(tasks[i].config), name(signature.type), name(signature.accumulator),
               name(signature.output_type()), name(signature.layout), tasks[i].architecture,
               compile::name(kernel.status), kernel.registers, kernel.spill_bytes,
               Cell(kernel.compile_s, 2), kernel.from_cache ? "yes" : "no"});
  }
  std::cout << table.render(session.format);
  for (std::size_t i = 0; i < finished.size(); ++i)
    if (finished[i] && finished[i]->status != compile::KernelStatus::kOk)
      talk("gemmsmith compile --target {} --type {} --acc {} --layout {}{}{} --config {}\n{}\n",
           tasks[i].architecture, name(tasks[i].signature.type),
           name(tasks[i].signature.accumulator), name(tasks[i].signature.layout),
           tasks[i].signature.f32_output ? " --out-type f32" : "",
           tasks[i].signature.batched ? " --batch 2" : "", to_text(tasks[i].config),
           finished[i]->log);
  if (stopped) {
    talk("interrupted: {}\n", stopped->what);
    return exit_code(ErrorCode::kInterrupted);
  }
  if (!session.quiet)
    talk("{} kernels, {} rejected after compiling{}\n", finished.size(), bad,
         pace_of(finished, threads));
  return bad == 0 ? 0 : 1;
}

}  // namespace

Verb add_compile(CLI::App& parent, Session& session) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* app = parent.add_subcommand(
      "compile", "Compile kernels without a GPU and check them for spills and serialised wgmma");
  app->footer(
      "Examples:\n"
      "  gemmsmith compile --target sm_90a,sm_80             every kernel the constraints admit\n"
      "  gemmsmith compile --all-types --all-layouts --batch 2   of batches, whatever their types\n"
      "  gemmsmith compile --target sm_90a --sample 40 --seed 7\n"
      "  gemmsmith compile --target sm_90a --shapes grid.csv --ranked 40   what `tune` will ask "
      "for\n"
      "  gemmsmith compile --config sm90_ws:w2.m128.n256");
  options->problem.add_to(*app);
  app->add_option("--target", options->targets, "sm_90a, sm_80 or both joined by ',' [both]");
  app->add_option("--family", options->family, "Only this family");
  app->add_option("--config", options->configs, "Only this config; may be repeated")->take_all();
  add_whole_number(*app, "--sample", options->sample, "Only N kernels drawn with --seed", 1);
  auto* ranked = add_whole_number(*app, "--ranked", options->ranked,
                                  "Only the kernels of the N best-ranked configs of each shape", 1);
  app->add_flag("--all-types", options->all_types,
                "f16 and bf16, f32 and f16 accumulation, with f32 outputs, too");
  app->add_flag("--all-layouts", options->all_layouts, "tn, nn, nt and tt")->excludes(ranked);
  add_setting_options(*app, session, {"compile_threads", "seed", "cache_dir"});
  add_output_options(*app, session);
  return {app, [options, &session] { return run(*options, session); }};
}

}  // namespace gemmsmith::cli
