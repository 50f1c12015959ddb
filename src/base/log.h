// log.h -- talk on stderr (stdout carries results only), at the level of GEMMSMITH_LOG_LEVEL or
// --quiet. Lines are key=value where a machine might read them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace gemmsmith {

enum class LogLevel { kOff, kError, kWarning, kInfo, kDebug };

void set_log_level(LogLevel level);
LogLevel log_level();
void log_line(LogLevel level, const std::string& text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (level <= log_level()) log_line(level, fmt::format(text, std::forward<Args>(args)...));
}

// Talk on stderr that no level silences: errors, progress, hints. A stderr that is closed or full
// is nobody's failure, so what cannot be written is dropped.
void talk_text(const std::string& text);

template <class... Args>
void talk(fmt::format_string<Args...> text, Args&&... args) {
  talk_text(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace gemmsmith
