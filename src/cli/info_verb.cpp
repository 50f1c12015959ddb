// gemmsmith info: what is here (device, driver, libraries) and which settings are in force, each
// with where it came from. Looks, and loads nothing heavy, so it answers at once.
#include <iostream>

#include "base/paths.h"
#include "cli/verb.h"
#include "compile/compiler.h"
#include "compile/cubin_cache.h"
#include "device/cuda.h"
#include "gemmsmith/gemmsmith.h"

namespace gemmsmith::cli {
namespace {

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

Result<int> run(const Session& session) {
  Table table({"what", "value", "origin"});
  table.add({"gemmsmith",
             fmt::format("{}.{}.{}", GEMMSMITH_VERSION_MAJOR, GEMMSMITH_VERSION_MINOR,
                         GEMMSMITH_VERSION_PATCH),
             "built in"});
  table.add({"devices", device_text(), "driver"});
  const auto compiler = compile::Compiler::open(nullptr);
  table.add({"compiler", compiler ? compiler->version() : "none: " + compiler.error().what,
             "found at run time"});
  const auto cache = compile::CubinCache::open_default();
  table.add({"kernel cache", cache ? cache->directory().string() : "none: HOME is not set",
             "XDG_CACHE_HOME"});
  for (const auto& [name, setting] : session.settings.all())
    table.add({name, setting.value.empty() ? "(default place)" : setting.value, setting.origin});
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
