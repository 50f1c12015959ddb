#include "blas/mode.h"

#include <cstdlib>
#include <string_view>

#include "blas/server.h"

namespace gemmsmith::blas {

Mode parse_mode(const char* text) {
  const std::string_view word = text == nullptr ? "" : text;
  if (word.empty() || word == "on") return Mode::kOn;
  if (word == "observe") return Mode::kObserve;
  if (word != "off")
    tell(fmt::format("GEMMSMITH_BLAS = '{}': expected off, observe or on; taken as off", word));
  return Mode::kOff;
}

Mode mode() {
  static const Mode chosen = parse_mode(std::getenv("GEMMSMITH_BLAS"));
  return chosen;
}

}  // namespace gemmsmith::blas
