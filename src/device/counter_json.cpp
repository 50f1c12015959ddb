#include "device/counter_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gemmsmith {

using nlohmann::json;

namespace {

constexpr const char* kEnergy = "energy_uj";

// Nothing where the object has none of this name.
Result<std::optional<double>> figure(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::optional<double>();
  if (!found->is_number() || !(found->get<double>() >= 0) || !std::isfinite(found->get<double>()))
    return fail(ErrorCode::kBadInput, "counters: {}: {} is not a number of 0 or more", name,
                found->dump(-1, ' ', false, json::error_handler_t::replace));
  return std::optional<double>(found->get<double>());
}

}  // namespace

json counters_to_json(const CounterValues& values) {
  json object = json::object();
  for (const CounterRow& row : counter_table())
    if (const auto& value = values[row.counter]; value && std::isfinite(*value))
      object[row.name] = *value;
  if (values.energy_uj && std::isfinite(*values.energy_uj)) object[kEnergy] = *values.energy_uj;
  return object;
}

Result<CounterValues> counters_from_json(const json& object) {
  if (!object.is_object())
    return fail(ErrorCode::kBadInput, "counters: {} is no object of names and numbers",
                object.dump(-1, ' ', false, json::error_handler_t::replace));
  CounterValues values;
  for (const CounterRow& row : counter_table()) {
    GEMMSMITH_TRY(values[row.counter], figure(object, row.name));
  }
  GEMMSMITH_TRY(values.energy_uj, figure(object, kEnergy));
  return values;
}

}  // namespace gemmsmith
