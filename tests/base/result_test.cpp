// result_test.cpp -- errors travel up unchanged, and each code has its exit code and its own name.
#include "base/result.h"

#include <gtest/gtest.h>

#include <set>

namespace gemmsmith {
namespace {

struct ExitCase {
  ErrorCode code;
  int exit;
};

const ExitCase kExitCodes[] = {
    {ErrorCode::kBadInput, 2},  {ErrorCode::kUnsupported, 2}, {ErrorCode::kEnvironment, 3},
    {ErrorCode::kStore, 4},     {ErrorCode::kDevice, 1},      {ErrorCode::kCompile, 1},
    {ErrorCode::kBadResult, 1}, {ErrorCode::kTimeout, 1},     {ErrorCode::kInterrupted, 130},
    {ErrorCode::kInternal, 1},
};

TEST(Result, EachCodeHasItsExitCodeAndName) {
  std::set<std::string> names;
  for (const ExitCase& c : kExitCodes) {
    EXPECT_EQ(exit_code(c.code), c.exit) << name(c.code);
    names.insert(name(c.code));
  }
  EXPECT_EQ(names.size(), std::size(kExitCodes));
}

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kBadInput, "{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  GEMMSMITH_TRY(const int once, half(value));
  return half(once);
}

Result<void> check_quarter(int value) {
  GEMMSMITH_CHECK(quarter(value).map([](int) {}));
  return {};
}

TEST(Result, TryReturnsTheErrorUnchanged) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().what, "7 is odd");
  EXPECT_EQ(quarter(6).error().what, "3 is odd");
  EXPECT_EQ(check_quarter(6).error().code, ErrorCode::kBadInput);
  EXPECT_TRUE(check_quarter(8));
}

}  // namespace
}  // namespace gemmsmith
