// counter_json.h -- counted figures as JSON, by our names: in a worker's messages, in the store and
// in its exports.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "device/counters.h"

namespace gemmsmith {

// {"ipc":1.5,"l2_read_hits":1024,...}: what was counted, and nothing else.
nlohmann::json counters_to_json(const CounterValues& values);

// Errors (kBadInput) name the member that is not a number of 0 or more. Counters that are not known
// here, of a newer program, are left out.
Result<CounterValues> counters_from_json(const nlohmann::json& object);

}  // namespace gemmsmith
