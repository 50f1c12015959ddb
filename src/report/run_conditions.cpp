// A recording may be older than a figure, or its machine without NVML: whatever is missing, or of
// another type, is simply not shown.
#include "report/run_conditions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gemmsmith::report {
namespace {

using nlohmann::json;

double number(const json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

int count(const json& object, const char* member) {
  return static_cast<int>(std::clamp(number(object, member), 0.0, 1e9));
}

std::string text(const json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& child(const json& object, const char* member) {
  static const json kNone = json::object();
  const auto found = object.find(member);
  return found != object.end() && found->is_object() ? *found : kNone;
}

Range range(const json& clocks, const char* member) {
  const json& object = child(clocks, member);
  return {number(object, "min"), number(object, "median"), number(object, "max")};
}

// The whole of both; the middle is that of the worker with more samples.
void widen(Range& whole, const Range& part, bool part_has_more) {
  if (part.high <= 0) return;
  if (whole.high <= 0) {
    whole = part;
    return;
  }
  whole = {std::min(whole.low, part.low), part_has_more ? part.median : whole.median,
           std::max(whole.high, part.high)};
}

// NVML's reasons by our names (device/nvml.h): "sw_power_cap", "sw_thermal", "hw_thermal" ...
void add_throttling(RunConditions& run, const json& samples) {
  for (const auto& [reason, value] : samples.items()) {
    if (!value.is_number()) continue;
    const int n = count(samples, reason.c_str());
    if (reason.find("thermal") != std::string::npos)
      run.heat_throttled += n;
    else if (reason.find("power") != std::string::npos)
      run.power_capped += n;
  }
}

void shorten(double& shortest_us, double us) {
  if (us > 0) shortest_us = shortest_us > 0 ? std::min(shortest_us, us) : us;
}

RunConditions conditions_of(const json& object) {
  RunConditions run;
  // A replay measures no empty kernel; the runs that it replays did.
  for (const auto& [id, replayed] : child(child(object, "recorded"), "runs").items())
    shorten(run.empty_us, conditions_of(child(replayed, "conditions")).empty_us);
  const auto workers = object.find("workers");
  if (workers == object.end() || !workers->is_array()) return run;
  int most_samples = 0;
  for (const json& worker : *workers) {
    if (!worker.is_object()) continue;
    const json& clocks = child(worker, "clocks");
    const int samples = count(clocks, "samples");
    const bool has_more = samples > most_samples;
    most_samples = std::max(most_samples, samples);
    widen(run.sm_clock_mhz, range(clocks, "sm_clock_mhz"), has_more);
    widen(run.power_w, range(clocks, "power_w"), has_more);
    widen(run.temperature_c, range(clocks, "temperature_c"), has_more);
    run.power_limit_w = std::max(run.power_limit_w, range(clocks, "power_limit_w").high);
    run.samples += samples;
    run.problems += count(worker, "problems");
    add_throttling(run, child(clocks, "throttle_samples"));
    shorten(run.empty_us, number(worker, "empty_kernel_us"));
  }
  return run;
}

Result<json> parse_object(std::string_view text, const char* what) {
  json object = json::parse(text, nullptr, false);
  if (!object.is_object())
    return fail(ErrorCode::kBadInput, "the {} is no JSON object: was the file edited?", what);
  return object;
}

}  // namespace

Result<RunConditions> read_conditions(std::string_view conditions) {
  GEMMSMITH_TRY(const json object, parse_object(conditions, "conditions of a run"));
  return conditions_of(object);
}

double smallest_empty_us(std::span<const RunConditions> runs) {
  double smallest_us = 0;
  for (const RunConditions& run : runs) shorten(smallest_us, run.empty_us);
  return smallest_us;
}

Result<std::vector<RunConditions>> runs_of_sidecar(std::string_view sidecar) {
  GEMMSMITH_TRY(const json object, parse_object(sidecar, "recording's sidecar"));
  std::vector<RunConditions> runs;
  for (const auto& [id, run] : child(object, "runs").items()) {
    if (!run.is_object()) continue;
    RunConditions conditions = conditions_of(child(run, "conditions"));
    conditions.id = id;
    conditions.started = text(run, "started");
    conditions.command = text(run, "command");
    runs.push_back(std::move(conditions));
  }
  return runs;
}

}  // namespace gemmsmith::report
