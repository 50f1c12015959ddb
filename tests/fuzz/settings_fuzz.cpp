// Settings files: refused by file and line, or every value is one the file gave or the default.
#include "base/files.h"
#include "base/settings.h"
#include "fuzz/fuzz.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_folder() / "config.toml";
  if (!write_file_atomic(path, fuzz::text_of(data, size))) return 0;
  const auto settings = Settings::load(path);
  if (!settings) {
    fuzz::require(settings.error().code == ErrorCode::kBadInput, "a bad file is bad input");
    fuzz::require(settings.error().what.rfind(path.string() + ":", 0) == 0,
                  "the file is named: " + settings.error().what);
    return 0;
  }
  for (const auto& [name, value] : Settings::known()) {
    const SettingValue& setting = settings->at(name);
    fuzz::require(setting.origin != "default" || setting.value == value,
                  "a default is what it says");
    (void)settings->integer(name, 0);
  }
  fuzz::require(settings->all().size() == Settings::known().size(), "no setting is invented");
  return 0;
}
