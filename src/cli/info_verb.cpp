// gemmsmith info: what is here (device, driver, libraries) and which settings are in force, each
// with where it came from. Looks, and loads nothing heavy, so it answers at once.
#include <iostream>

#include "base/paths.h"
#include "cli/bench_session.h"
#include "cli/verb.h"
#include "compile/compiler.h"
#include "device/cuda.h"
#include "device/nvml.h"
#include "gemmsmith/gemmsmith.h"
#include "vendor/blas_library.h"

namespace gemmsmith::cli {
namespace {

// "none: why" where no GPU is seen.
std::string device_text() {
  const auto driver = load_driver();
  if (!driver) return "none: " + driver.error().what;
  const auto count = device_count(**driver);
  if (!count) return "none: " + count.error().what;
  std::string text;
  for (int i = 0; i < *count; ++i) {
    const auto info = query_device(**driver, i);
    text += fmt::format("{}cuda:{} {}", text.empty() ? "" : "; ", i,
                        info ? info->fingerprint() : info.error().what);
  }
  return text.empty() ? "none: the driver sees no GPU" : text;
}

// Hundreds of megabytes that nothing uses without a GPU.
std::string cublaslt_text() {
  const auto library = vendor::BlasLibrary::open();
  if (!library) return "none: " + library.error().what;
  return fmt::format("{} ({})", (*library)->version(), (*library)->path());
}

std::string nvml_text() {
  const std::string version = nvml_driver_version();
  return version.empty() ? "none: measurements come without clocks and power" : version;
}

// A setting as it is in force: a place that was left to us is named.
std::string value_of(const Session& session, const std::string& name) {
  const std::string& set = session.settings.value(name);
  if (!set.empty()) return set;
  if (name == "store") {
    const auto path = store_path(session);
    return path ? path->string() : "none: HOME is not set";
  }
  const auto folder = cache_directory();
  return folder ? folder->string() : "none: HOME is not set";
}

Result<int> run(const Session& session) {
  Table table({"what", "value", "origin"});
  table.add({"gemmsmith",
             fmt::format("{}.{}.{}", GEMMSMITH_VERSION_MAJOR, GEMMSMITH_VERSION_MINOR,
                         GEMMSMITH_VERSION_PATCH),
             "built in"});
  const std::string devices = device_text();
  const bool has_gpu = devices.rfind("none: ", 0) != 0;
  constexpr const char* kNotNeeded = "not looked for: of use with a GPU only";
  constexpr const char* kFound = "found at run time";
  table.add({"devices", devices, "driver"});
  const auto compiler = compile::Compiler::open(nullptr);
  table.add(
      {"compiler", compiler ? compiler->version() : "none: " + compiler.error().what, kFound});
  table.add({"cublaslt", has_gpu ? cublaslt_text() : kNotNeeded, kFound});
  table.add({"nvml", has_gpu ? nvml_text() : kNotNeeded, kFound});
  for (const auto& [name, setting] : session.settings.all())
    table.add({name, value_of(session, name), setting.origin});
  std::cout << table.render(session.format);
  return 0;
}

}  // namespace

Verb add_info(CLI::App& parent, Session& session) {
  CLI::App* app = parent.add_subcommand("info", "Show devices, libraries and settings");
  app->footer("Example:\n  gemmsmith info --json");
  add_setting_options(*app, session, {"device", "store", "cache_dir", "log_level", "seed"});
  add_output_options(*app, session);
  return {app, [&session] { return run(session); }};
}

}  // namespace gemmsmith::cli
