#include "device/measurement.h"

#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <span>

namespace gemmsmith {
namespace {

// Indexed by the enumerators.
constexpr std::array kKinds = {"kernel",          "vendor",   "cublas",
                               "cublas_autotune", "lt_first", "lt_tuned"};
constexpr std::array kSettings = {"chained", "foreign"};
constexpr std::array kCacheStates = {"cold", "hot"};
constexpr std::array kStages = {"screen", "final"};
constexpr std::array kStatuses = {"ok",      "compile", "spill", "serialised",       "launch",
                                  "timeout", "fault",   "wrong", "nondeterministic", "floor"};

template <class Enum>
Result<Enum> parse(std::string_view text, std::span<const char* const> names, const char* what) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  return fail(ErrorCode::kBadInput, "unknown {} '{}': expected {}", what, text,
              fmt::join(names.begin(), names.end(), ", "));
}

}  // namespace

const char* name(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
const char* name(Setting setting) { return kSettings[static_cast<std::size_t>(setting)]; }
const char* name(CacheState cache) { return kCacheStates[static_cast<std::size_t>(cache)]; }
const char* name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }
const char* name(Status status) { return kStatuses[static_cast<std::size_t>(status)]; }

Result<Kind> parse_kind(std::string_view text) { return parse<Kind>(text, kKinds, "kind"); }
Result<Setting> parse_setting(std::string_view text) {
  return parse<Setting>(text, kSettings, "setting");
}
Result<CacheState> parse_cache_state(std::string_view text) {
  return parse<CacheState>(text, kCacheStates, "cache state");
}
Result<Stage> parse_stage(std::string_view text) { return parse<Stage>(text, kStages, "stage"); }
Result<Status> parse_status(std::string_view text) {
  return parse<Status>(text, kStatuses, "status");
}

}  // namespace gemmsmith
