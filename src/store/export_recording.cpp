// A store's rows as a recording, for machines without a GPU to search in; the sidecar keeps what
// the rows were measured under, run by run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/files.h"
#include "base/interrupt.h"
#include "device/recording.h"
#include "store/rows.h"
#include "store/state.h"
#include "store/store.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

// Conditions are JSON from the bench; kept as an object where they parse, as text where they do
// not.
json conditions_of(const Run& run) {
  json conditions = json::parse(run.conditions, nullptr, false);
  return conditions.is_discarded() ? json(run.conditions) : conditions;
}

std::string sidecar(const Environment& environment, const std::vector<Run>& runs,
                    const std::set<std::string>& used) {
  json described = json::object();
  for (const Run& run : runs)
    if (used.count(run.id) != 0)
      described[run.id] = {{"started", run.started},
                           {"command", run.command},
                           {"seed", run.seed},
                           {"conditions", conditions_of(run)}};
  json object = {{"fingerprint", environment.fingerprint},
                 {"protocol", environment.protocol},
                 {"runs", described}};
  // Once at the top, where the recorded device looks for it: every run's is the environment's.
  for (const auto& run : described)
    if (run["conditions"].contains("device")) object["device"] = run["conditions"]["device"];
  return object.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

// The sidecar's name follows from the recording's, so what stands there may be a file of the
// user's, or the sidecar of the recording that differs in compression alone.
Result<void> check_sidecar_place(const std::filesystem::path& recording) {
  const std::filesystem::path place = sidecar_path(recording);
  const std::filesystem::path other = other_recording(recording);
  std::error_code error;
  if (std::filesystem::exists(other, error))
    return fail(ErrorCode::kBadInput,
                "recording {}: its sidecar would replace {}, which is that of {}; choose another "
                "name or move that recording away",
                recording.string(), place.string(), other.string());
  GEMMSMITH_CHECK(check_can_write(recording));
  GEMMSMITH_CHECK(check_can_write(place));
  if (!std::filesystem::exists(place, error)) return {};
  const auto text = read_sidecar(recording);
  const json object = json::parse(text ? *text : std::string(), nullptr, false);
  if (object.is_object() && object.contains("fingerprint") && object.contains("runs")) return {};
  return fail(ErrorCode::kBadInput,
              "recording {}: its sidecar would replace {}, which is not a recording's; choose "
              "another name or move that file away",
              recording.string(), place.string());
}

}  // namespace

Result<void> Store::export_recording(const Environment& environment,
                                     const std::filesystem::path& path) const {
  // Any other ending would put the sidecar, which replaces it with .json, over a file of the
  // user's.
  const std::string name = path.filename().string();
  if (!name.ends_with(".csv") && !name.ends_with(".csv.zst"))
    return fail(ErrorCode::kBadInput, "recording {}: the name must end in .csv or .csv.zst",
                path.string());
  GEMMSMITH_CHECK(check_sidecar_place(path));
  GEMMSMITH_TRY(const std::vector<StoredMeasurement> stored, all_measurements());
  GEMMSMITH_TRY(const std::vector<Run> all_runs, runs());
  std::vector<Measurement> rows;
  std::set<std::string> used;
  for (const StoredMeasurement& row : stored) {
    if (row.environment != environment) continue;
    rows.push_back(row.measurement);
    used.insert(row.measurement.run);
  }
  if (rows.empty())
    return fail(ErrorCode::kBadInput, "store {}: holds no measurement of {} (protocol {})",
                this->path().string(), environment.fingerprint, environment.protocol);
  // Problem by problem, so that a recording's rows stand together however the tuners took turns.
  std::stable_sort(rows.begin(), rows.end(), [](const Measurement& a, const Measurement& b) {
    return std::tie(a.problem.m, a.problem.n, a.problem.k, a.problem.type, a.problem.accumulator,
                    a.problem.f32_output) < std::tie(b.problem.m, b.problem.n, b.problem.k,
                                                     b.problem.type, b.problem.accumulator,
                                                     b.problem.f32_output);
  });
  GEMMSMITH_CHECK(go_on("writing " + path.string()));
  return write_recording(path, rows, sidecar(environment, all_runs, used));
}

}  // namespace gemmsmith
