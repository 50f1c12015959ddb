// The store as verbs read it: every refusal says what to name instead.
#include "cli/store_reading.h"

#include "base/log.h"
#include "device/device_json.h"
#include "measure/model_bench.h"

namespace gemmsmith::cli {

Result<Environment> only_environment(const Store& store, const std::string& fingerprint) {
  GEMMSMITH_TRY(const std::vector<Environment> environments, store.environments());
  std::vector<Environment> matching;
  for (const Environment& environment : environments)
    if (fingerprint.empty() || environment.fingerprint.find(fingerprint) != std::string::npos)
      matching.push_back(environment);
  if (matching.size() == 1) return matching.front();
  if (matching.empty())
    return fail(ErrorCode::kBadInput, "{} holds no results{}", store.path().string(),
                fingerprint.empty() ? "" : " of a device matching '" + fingerprint + "'");
  std::string list;
  for (const Environment& environment : matching) list += "\n  " + environment.fingerprint;
  return fail(ErrorCode::kBadInput,
              "{} holds results of {} environments; choose with --environment:{}",
              store.path().string(), matching.size(), list);
}

void warn_of_damage(const Store& store) {
  if (store.damaged_rows() > 0)
    talk("warning: {} rows of {} are damaged and were left out; tune their shapes again\n",
         store.damaged_rows(), store.path().string());
}

Result<void> check_is_measured(const Environment& environment) {
  if (!is_predicted(environment.fingerprint)) return {};
  return fail(ErrorCode::kBadInput, "{}: these are predictions; tune on such a card first",
              environment.fingerprint);
}

Result<DeviceInfo> device_of(const Store& store, const Environment& environment) {
  GEMMSMITH_TRY(const std::vector<Run> runs, store.runs());
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (run->environment == environment) {
      auto device = device_from_sidecar(run->conditions);
      if (device) return device;
    }
  return fail(ErrorCode::kBadInput, "{} does not say which device measured {}",
              store.path().string(), environment.fingerprint);
}

Result<report::ReportContext> context_of(const Store& store, const Environment& environment) {
  report::ReportContext context;
  context.source = store.path().string();
  GEMMSMITH_TRY(context.device, device_of(store, environment));
  GEMMSMITH_TRY(const std::vector<Run> runs, store.runs());
  for (const Run& run : runs) {
    if (run.environment != environment) continue;
    GEMMSMITH_TRY(report::RunConditions conditions, report::read_conditions(run.conditions));
    conditions.id = run.id;
    conditions.started = run.started;
    conditions.command = run.command;
    context.runs.push_back(std::move(conditions));
  }
  return context;
}

Result<void> check_is_not_store(const std::string& file, const std::filesystem::path& store) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::path part = store;
    part += suffix;
    std::error_code error;
    if (std::filesystem::equivalent(file, part, error))
      return fail(ErrorCode::kBadInput, "{} is the store itself ({}): name another file", file,
                  part.string());
  }
  return {};
}

}  // namespace gemmsmith::cli
