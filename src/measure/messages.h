// messages.h -- what the tuner and its worker say to each other, as JSON. A line is an object; a
// kernel's bytes follow the line that announces them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "measure/bench.h"

namespace gemmsmith::messages {

// Errors (kBadInput) of the readers name the member that is missing or wrong.
nlohmann::json to_json(const Problem& problem);
Result<Problem> read_problem(const nlohmann::json& json);

nlohmann::json to_json(const BenchSettings& settings);
Result<BenchSettings> read_settings(const nlohmann::json& json);

// Without the problem, which both sides know.
nlohmann::json to_json(const Measurement& measurement);
Result<Measurement> read_measurement(const nlohmann::json& json, const Problem& problem);

nlohmann::json to_json(const AccuracyReport& report);
Result<AccuracyReport> read_accuracy(const nlohmann::json& json);

nlohmann::json to_json(const ServeSettings& settings);
Result<ServeSettings> read_serve_settings(const nlohmann::json& json);

nlohmann::json to_json(const ServeReport& report);
Result<ServeReport> read_serve_report(const nlohmann::json& json);

nlohmann::json to_json(const LoadReport& report);
Result<LoadReport> read_load_report(const nlohmann::json& json);

nlohmann::json to_json(const CounterReport& report);
Result<CounterReport> read_counter_report(const nlohmann::json& json);

nlohmann::json to_json(const Error& error);
Error read_error(const nlohmann::json& json);

}  // namespace gemmsmith::messages
