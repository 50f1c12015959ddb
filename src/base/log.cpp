#include "base/log.h"

#define SPDLOG_FMT_EXTERNAL
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <memory>

namespace gemmsmith {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kWarning};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_color_mt("gemmsmith");
    made->set_pattern("gemmsmith: %^%l%$: %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kOff:
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::debug;
}

}  // namespace

void set_log_level(LogLevel level) { current_level = level; }
LogLevel log_level() { return current_level; }
void log_line(LogLevel level, const std::string& text) {
  logger().log(spdlog_level(level), "{}", text);
}

void talk_text(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) std::clearerr(stderr);
  std::fflush(stderr);
}

}  // namespace gemmsmith
