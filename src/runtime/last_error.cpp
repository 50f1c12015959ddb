#include "runtime/last_error.h"

#include <algorithm>
#include <cstring>

#include "runtime/log_sink.h"

namespace gemmsmith::runtime {
namespace {

thread_local char last_error_text[1024] = "";

}  // namespace

void set_last_error(std::string_view text) {
  const std::size_t length = std::min(text.size(), sizeof last_error_text - 1);
  std::memcpy(last_error_text, text.data(), length);
  last_error_text[length] = '\0';
}

const char* last_error() { return last_error_text; }

gemmsmithStatus_t report(const Error& error) {
  set_last_error(error.what);
  if (has_log_sink()) log_to_sink(GEMMSMITH_LOG_ERROR, error.what);
  return status_of(error.code);
}

gemmsmithStatus_t status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kStore:
      return GEMMSMITH_STATUS_INVALID_VALUE;
    case ErrorCode::kUnsupported:
      return GEMMSMITH_STATUS_NOT_SUPPORTED;
    case ErrorCode::kEnvironment:
      return GEMMSMITH_STATUS_NOT_INITIALIZED;
    case ErrorCode::kDevice:
    case ErrorCode::kTimeout:
      return GEMMSMITH_STATUS_EXECUTION_FAILED;
    case ErrorCode::kCompile:
    case ErrorCode::kBadResult:
    case ErrorCode::kInterrupted:
    case ErrorCode::kInternal:
      break;
  }
  return GEMMSMITH_STATUS_INTERNAL_ERROR;
}

}  // namespace gemmsmith::runtime
