// main.cpp -- the command line: settings, verbs, and one place where errors become exit codes.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <new>

#include "base/interrupt.h"
#include "base/log.h"
#include "cli/bench_session.h"
#include "cli/verb.h"
#include "gemmsmith/gemmsmith.h"
#include "measure/bench.h"
#include "measure/worker.h"

namespace gemmsmith::cli {
namespace {

Result<void> apply_log_level(const Session& session) {
  const std::string& level = session.settings.value("log_level");
  constexpr std::pair<const char*, LogLevel> kLevels[] = {{"off", LogLevel::kOff},
                                                          {"error", LogLevel::kError},
                                                          {"warning", LogLevel::kWarning},
                                                          {"info", LogLevel::kInfo},
                                                          {"debug", LogLevel::kDebug}};
  for (const auto& [text, value] : kLevels)
    if (level == text) {
      set_log_level(session.quiet ? std::min(value, LogLevel::kError) : value);
      return {};
    }
  return fail(ErrorCode::kBadInput,
              "log_level = '{}' ({}): expected off, error, warning, info or debug", level,
              session.settings.at("log_level").origin);
}

// An empty variable of a script, most likely: that a flag was given must not be forgotten.
Result<void> check_no_empty_value(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& value : option->results())
      if (value.empty())
        return fail(ErrorCode::kBadInput, "{}: its value is empty", option->get_name());
  return {};
}

int report(const Error& error) {
  talk("gemmsmith: {}\n", error.what);
  return exit_code(error.code);
}

// A value that this verb does not use is wrong all the same: it was meant for something.
Result<void> check_settings(const Session& session) {
  const std::string& device = session.settings.value("device");
  if (is_gpu(device)) {
    GEMMSMITH_CHECK(cuda_ordinal(device));
  } else if (!is_recorded(device)) {
    GEMMSMITH_CHECK(modelled_target(device));
  }
  GEMMSMITH_CHECK(bench_settings(session));
  GEMMSMITH_CHECK(compile_threads(session));
  return {};
}

int run(int argc, char** argv) {
  auto settings = Settings::load();
  if (!settings) return report(settings.error());
  Session session;
  session.settings = std::move(*settings);
  session.arguments.assign(argv, argv + argc);

  CLI::App app(
      "gemmsmith finds GPU matrix-multiply kernels faster than cuBLAS, proves them right, keeps "
      "them and serves them.");
  app.name("gemmsmith");
  app.set_version_flag("--version", fmt::format("gemmsmith {}.{}.{}", GEMMSMITH_VERSION_MAJOR,
                                                GEMMSMITH_VERSION_MINOR, GEMMSMITH_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 a bad result, 2 bad usage or input, 3 environment (no device, driver "
      "or library), 4 store, 130 interrupted with everything kept.");
  const Verb verbs[] = {
      add_tune(app, session),    add_bench(app, session),   add_verify(app, session),
      add_profile(app, session), add_eval(app, session),    add_space(app, session),
      add_explain(app, session), add_compile(app, session), add_store(app, session),
      add_export(app, session),  add_report(app, session),  add_train(app, session),
      add_monitor(app, session), add_info(app, session)};
  // CLI11 would only say that a subcommand is missing.
  if (argc > 1 && argv[1][0] != '-' &&
      std::none_of(std::begin(verbs), std::end(verbs),
                   [&](const Verb& verb) { return verb.app->get_name() == argv[1]; })) {
    std::string names;
    for (const Verb& verb : verbs) names += (names.empty() ? "" : ", ") + verb.app->get_name();
    return report({ErrorCode::kBadInput,
                   fmt::format("unknown verb '{}': expected one of {}", argv[1], names)});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const Verb& verb : verbs)
    if (auto given = check_no_empty_value(*verb.app); !given) return report(given.error());
  // The cache folder is found through the environment by every layer and by worker processes.
  if (const std::string& cache = session.settings.value("cache_dir"); !cache.empty())
    setenv("GEMMSMITH_CACHE_DIR", cache.c_str(), 1);
  if (auto level = apply_log_level(session); !level) return report(level.error());
  if (auto checked = check_settings(session); !checked) return report(checked.error());
  catch_interrupts();
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    const Result<int> code = verb.run();
    // A full disk or a closed pipe shows only here: output that is lost must not look like success.
    std::cout.flush();
    if (!std::cout && (!code || *code == 0))
      return report({ErrorCode::kEnvironment,
                     "cannot write the results to standard output: is the disk full or the pipe "
                     "closed?"});
    return code ? *code : report(code.error());
  }
  return 2;
}

// Errors are Results; what is thrown all the same is memory that ran out, or a fault of ours.
int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return report({ErrorCode::kEnvironment,
                   "out of memory: give it fewer shapes at once, or a larger memory limit; what "
                   "the store holds is kept"});
  } catch (const std::exception& exception) {
    return report({ErrorCode::kInternal, fmt::format("an error that nobody expected: {}; what the "
                                                     "store holds is kept",
                                                     exception.what())});
  }
}

}  // namespace
}  // namespace gemmsmith::cli

int main(int argc, char** argv) {
  // A limit on the size of files is then an error of the write that meets it, which says so and
  // cleans up, and not a death.
  std::signal(SIGXFSZ, SIG_IGN);
  // The GPU worker is this program again, started by measure/worker_bench; not a user's verb.
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0)
    return gemmsmith::worker_main(argc - 1, argv + 1);
  return gemmsmith::cli::run_guarded(argc, argv);
}
