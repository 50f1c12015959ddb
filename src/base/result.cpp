#include "base/result.h"

namespace gemmsmith {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kUnsupported:
      return 2;
    case ErrorCode::kEnvironment:
      return 3;
    case ErrorCode::kStore:
      return 4;
    case ErrorCode::kInterrupted:
      return 130;
    case ErrorCode::kDevice:
    case ErrorCode::kCompile:
    case ErrorCode::kBadResult:
    case ErrorCode::kTimeout:
    case ErrorCode::kInternal:
      return 1;
  }
  return 1;
}

const char* name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
      return "bad-input";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kEnvironment:
      return "environment";
    case ErrorCode::kStore:
      return "store";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kCompile:
      return "compile";
    case ErrorCode::kBadResult:
      return "bad-result";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kInterrupted:
      return "interrupted";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace gemmsmith
