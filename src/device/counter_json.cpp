#include "device/counter_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gemmsmith {

using nlohmann::json;

json counters_to_json(const CounterValues& values) {
  json object = json::object();
  for (const CounterRow& row : counter_table())
    if (const auto& value = values[row.counter]; value && std::isfinite(*value))
      object[row.name] = *value;
  return object;
}

Result<CounterValues> counters_from_json(const json& object) {
  if (!object.is_object())
    return fail(ErrorCode::kBadInput, "counters: {} is no object of names and numbers",
                object.dump(-1, ' ', false, json::error_handler_t::replace));
  CounterValues values;
  for (const CounterRow& row : counter_table()) {
    const auto found = object.find(row.name);
    if (found == object.end()) continue;
    if (!found->is_number() || !(found->get<double>() >= 0) || !std::isfinite(found->get<double>()))
      return fail(ErrorCode::kBadInput, "counters: {}: {} is not a number of 0 or more", row.name,
                  found->dump(-1, ' ', false, json::error_handler_t::replace));
    values[row.counter] = found->get<double>();
  }
  return values;
}

}  // namespace gemmsmith
