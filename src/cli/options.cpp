// Flags that several verbs share, and their meaning.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "cli/number_options.h"
#include "cli/verb.h"
#include "problem/shape_list.h"

namespace gemmsmith::cli {

void add_output_options(CLI::App& app, Session& session) {
  auto* json = app.add_flag_callback(
      "--json", [&session] { session.format = OutputFormat::kJson; }, "Print JSON on stdout");
  auto* csv = app.add_flag_callback(
      "--csv", [&session] { session.format = OutputFormat::kCsv; }, "Print CSV on stdout");
  json->excludes(csv);
  app.add_flag("-q,--quiet", session.quiet, "No progress and no talk on stderr, errors excepted");
}

namespace {

std::string flag_of(const std::string& setting) {
  std::string flag = "--" + setting;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string help_of(const std::string& setting) {
  if (setting == "device")
    return "Where to measure: cuda:N, recorded:FILE (a recording, no GPU needed) or "
           "model:a100|h100|h200 (predicted, not measured)";
  if (setting == "store") return "File that keeps measurements and winners";
  if (setting == "cache_dir") return "Folder of compiled kernels";
  if (setting == "log_level") return "off, error, warning, info or debug";
  if (setting == "seed") return "Seed of everything random";
  if (setting == "compile_threads") return "Threads that compile; 0: one a core, at most 8";
  return "Workspace of every vendor call, in MiB (at least 32)";
}

// Places that were left to us are named in words: where they are depends on HOME.
std::string default_of(const Session& session, const std::string& name) {
  const std::string& value = session.settings.value(name);
  if (!value.empty()) return value;
  return name == "store" ? "winners.db in the data folder" : "the cache folder";
}

}  // namespace

void add_setting_options(CLI::App& app, Session& session, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    app.add_option_function<std::string>(
        flag_of(name),
        [&session, name](const std::string& value) { session.settings.set_flag(name, value); },
        help_of(name) + " [" + default_of(session, name) + "]");
    if (name == "device") {
      add_whole_number(app, "--gpu-device-id", "N: the same as --device cuda:N", 0,
                       std::numeric_limits<int>::max(),
                       [&session](std::int64_t index) {
                         session.settings.set_flag("device", "cuda:" + std::to_string(index));
                       })
          ->excludes("--device");
    }
  }
}

void ProblemOptions::add_to(CLI::App& app) {
  app.add_option(
         "--mnk", mnk,
         "A shape M_N_K of row-major D, for example 64_4096_64, or of a batch M_N_KxBATCH; may be "
         "repeated")
      ->take_all();
  app.add_option("--shapes", shapes, "A list of shapes: CSV with columns m,n,k or JSON Lines");
  app.add_option("--type", type, "Type of A and B: f16 or bf16 [" + type + "]");
  app.add_option("--out-type", out_type, "Type of C and D: f32, or that of A and B [that]");
  app.add_option("--acc", acc, "Accumulator: f32, or f16 with f16 operands [" + acc + "]");
  app.add_option("--layout", layout,
                 "tn, nn, nt or tt; first letter t: A has k contiguous, second n: B has k "
                 "contiguous [" +
                     layout + "]");
  // Of 16-bit elements; of f32 ones half as many, which the problem is asked about.
  constexpr std::int64_t kMostElems = (std::int64_t{1} << 39) - 1;
  add_whole_number(app, "--lda", lda, "Leading dimension of A in elements; 0: packed", 0,
                   kMostElems);
  add_whole_number(app, "--ldb", ldb, "Leading dimension of B in elements; 0: packed", 0,
                   kMostElems);
  add_whole_number(app, "--ldc", ldc, "Leading dimension of C in elements; 0: that of D", 0,
                   kMostElems);
  add_whole_number(app, "--ldd", ldd, "Leading dimension of D in elements; 0: packed", 0,
                   kMostElems);
  add_whole_number(app, "--batch", batch, "Products in one call [1]", 0,
                   std::numeric_limits<std::int32_t>::max());
  const auto add_stride = [&app](const std::string& flag, std::int64_t& stride, const char* of) {
    add_whole_number(
        app, flag, stride,
        fmt::format("Elements from one {} of the batch to the next; not given: dense", of), 0,
        kMostElems);
  };
  add_stride("--stride-a", stride_a, "A (0: one A for all)");
  add_stride("--stride-b", stride_b, "B (0: one B for all)");
  add_stride("--stride-c", stride_c, "C (0: one C for all)");
  add_stride("--stride-d", stride_d, "D");
  add_number(app, "--alpha", alpha, "Factor of A * B [1]");
  add_number(app, "--beta", beta, "Factor of C [0]");
}

Result<Problem> ProblemOptions::defaults() const {
  Problem problem;
  GEMMSMITH_TRY(problem.type, parse_data_type(type));
  GEMMSMITH_TRY(problem.accumulator, parse_data_type(acc));
  GEMMSMITH_TRY(problem.layout, parse_layout(layout));
  if (!out_type.empty()) GEMMSMITH_CHECK(set_output(problem, out_type));
  problem.lda = lda;
  problem.ldb = ldb;
  problem.ldc = ldc;
  problem.ldd = ldd;
  problem.batch = batch;
  problem.stride_a = stride_a;
  problem.stride_b = stride_b;
  problem.stride_c = stride_c;
  problem.stride_d = stride_d;
  problem.alpha = alpha;
  problem.beta = beta;
  return problem;
}

Result<std::vector<Problem>> ProblemOptions::problems() const {
  GEMMSMITH_TRY(const Problem base, defaults());
  std::vector<Problem> result;
  std::unordered_set<std::string> seen;
  const auto add = [&](const Problem& problem) {
    if (seen.insert(describe(problem)).second) result.push_back(problem);
  };
  for (const std::string& text : mnk) {
    GEMMSMITH_TRY(const Problem problem, parse_mnk(text, base));
    add(problem);
  }
  if (!shapes.empty()) {
    GEMMSMITH_TRY(const std::vector<Problem> listed, read_shape_list(shapes, base));
    for (const Problem& problem : listed) add(problem);
  }
  if (mnk.empty() && shapes.empty())
    return fail(ErrorCode::kBadInput,
                "no shape given: pass --mnk M_N_K, for example --mnk 64_4096_64, or --shapes FILE");
  return result;
}

std::string repeat_line(const Session& session, std::string_view verb, const Problem& problem,
                        std::string_view config) {
  const Problem& p = problem;
  std::string line = fmt::format("gemmsmith {} --device {} --mnk {} --type {} --acc {} --layout {}",
                                 verb, session.settings.value("device"), shape_name(p),
                                 name(p.type), name(p.accumulator), name(p.layout));
  if (!config.empty()) line += fmt::format(" --config {}", config);
  line += " --seed " + session.settings.value("seed");
  if (p.f32_output) line += " --out-type f32";
  if (p.lda != packed_lda(p)) line += fmt::format(" --lda {}", p.lda);
  if (p.ldb != packed_ldb(p)) line += fmt::format(" --ldb {}", p.ldb);
  if (p.ldc != packed_ldd(p)) line += fmt::format(" --ldc {}", p.ldc);
  if (p.ldd != packed_ldd(p)) line += fmt::format(" --ldd {}", p.ldd);
  if (p.is_batched()) {
    if (p.stride_a != default_stride_a(p)) line += fmt::format(" --stride-a {}", p.stride_a);
    if (p.stride_b != default_stride_b(p)) line += fmt::format(" --stride-b {}", p.stride_b);
    if (p.stride_c != default_stride_c(p)) line += fmt::format(" --stride-c {}", p.stride_c);
    if (p.stride_d != default_stride_d(p)) line += fmt::format(" --stride-d {}", p.stride_d);
  }
  if (p.alpha != 1) line += fmt::format(" --alpha {}", p.alpha);
  if (p.beta != 0) line += fmt::format(" --beta {}", p.beta);
  return line;
}

}  // namespace gemmsmith::cli
