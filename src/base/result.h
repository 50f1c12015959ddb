// result.h -- the only error channel inside the library. No exception crosses a folder boundary.
// An error's text says what failed, on what, and what to do about it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gemmsmith {

// Each code maps to one exit code of the command line and one status of the C API.
enum class ErrorCode {
  kBadInput,     // usage or input: a flag, a file, an argument            (exit 2)
  kUnsupported,  // legal input that nothing here can compute or launch     (exit 2)
  kEnvironment,  // no device, driver, library or permission                (exit 3)
  kStore,        // locked, corrupt, newer or full                          (exit 4)
  kDevice,       // a driver or library call failed on a working device     (exit 1)
  kCompile,      // a kernel did not compile or broke a rule after compiling (exit 1)
  kBadResult,    // a wrong or failed result                                (exit 1)
  kTimeout,      // a candidate or a worker did not answer in time          (exit 1)
  kInterrupted,  // the user stopped the work; what was finished is kept    (exit 130)
  kInternal,     // a broken promise of our own                             (exit 1)
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string what;
};

template <class T>
using Result = tl::expected<T, Error>;

template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> text,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}

// The exit code of the command line for an error (design: 0 done, 1 bad result, 2 input,
// 3 environment, 4 store, 130 interrupted).
int exit_code(ErrorCode code);

// The code's short name for machine-readable output, for example "bad-input".
const char* name(ErrorCode code);

}  // namespace gemmsmith

#define GEMMSMITH_CONCAT_INNER(a, b) a##b
#define GEMMSMITH_CONCAT(a, b) GEMMSMITH_CONCAT_INNER(a, b)

// GEMMSMITH_TRY(auto x, f()): returns f's error from the calling function, else defines x.
#define GEMMSMITH_TRY(declaration, expression) \
  GEMMSMITH_TRY_IMPL(GEMMSMITH_CONCAT(gemmsmith_result_, __LINE__), declaration, expression)
#define GEMMSMITH_TRY_IMPL(result, declaration, expression)               \
  auto result = (expression);                                             \
  if (!result) return tl::unexpected<::gemmsmith::Error>(result.error()); \
  declaration = std::move(*result)

// GEMMSMITH_CHECK(f()): the same for a Result<void>.
#define GEMMSMITH_CHECK(expression)                                        \
  do {                                                                     \
    if (auto gemmsmith_status = (expression); !gemmsmith_status)           \
      return tl::unexpected<::gemmsmith::Error>(gemmsmith_status.error()); \
  } while (false)
