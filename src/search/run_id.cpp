#include "search/run_id.h"

#include <fmt/chrono.h>

#include <chrono>
#include <random>

namespace gemmsmith {
namespace {

struct Now {
  std::tm calendar{};
  int milliseconds = 0;
};

Now now() {
  const auto time = std::chrono::system_clock::now();
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  return {fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
          static_cast<int>(since_epoch.count() % 1000)};
}

}  // namespace

const char* name(RunPurpose purpose) {
  switch (purpose) {
    case RunPurpose::kTune:
      return "tune";
    case RunPurpose::kRetest:
      return "retest";
    case RunPurpose::kConfirm:
      return "confirm";
    case RunPurpose::kCount:
      return "count";
  }
  return "?";
}

std::string make_run_id(RunPurpose purpose) {
  const Now time = now();
  return fmt::format("{:%Y%m%dT%H%M%S}.{:03}Z-{:04x}-{}", time.calendar, time.milliseconds,
                     std::random_device{}() & 0xffffU, name(purpose));
}

RunPurpose run_purpose(std::string_view run) {
  for (const RunPurpose purpose : {RunPurpose::kRetest, RunPurpose::kConfirm, RunPurpose::kCount})
    if (run.ends_with(name(purpose))) return purpose;
  return RunPurpose::kTune;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now().calendar); }

}  // namespace gemmsmith
