#include "measure/profile.h"

namespace gemmsmith {

const char* name(CounterScope scope) { return scope == CounterScope::kFull ? "full" : "standard"; }

Result<CounterScope> parse_counter_scope(std::string_view text) {
  for (const CounterScope scope : {CounterScope::kStandard, CounterScope::kFull})
    if (text == name(scope)) return scope;
  return fail(ErrorCode::kBadInput, "unknown scope of counters '{}': expected standard or full",
              text);
}

}  // namespace gemmsmith
