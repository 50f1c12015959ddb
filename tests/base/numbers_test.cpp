// numbers_test.cpp -- a number is the whole text or it is none.
#include "base/numbers.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <limits>

namespace gemmsmith {
namespace {

RC_GTEST_PROP(Numbers, AnyInt64ComesBack, (std::int64_t value)) {
  RC_ASSERT(*parse_int64(std::to_string(value)) == value);
}

TEST(Numbers, TheEndsOfTheRangeComeBack) {
  EXPECT_EQ(*parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
}

TEST(Numbers, OtherTextIsNoWholeNumber) {
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "--1", "-", "1,000"}) {
    const auto value = parse_int64(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(value.error().what, fmt::format("'{}' is not a whole number", text));
  }
}

TEST(Numbers, OverflowIsToldFromRubbish) {
  EXPECT_EQ(parse_int64("9223372036854775808").error().what,
            "'9223372036854775808' does not fit in 64 bits");
}

RC_GTEST_PROP(Numbers, AnyFiniteDoubleComesBack, (double value)) {
  RC_ASSERT(*parse_double(fmt::format("{}", value)) == value);
}

TEST(Numbers, OtherTextIsNoFiniteNumber) {
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "1.0x", " 1", "one"}) {
    const auto value = parse_double(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().what, fmt::format("'{}' is not a finite number", text));
  }
}

RC_GTEST_PROP(Numbers, CeilingDivisionCovers, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const auto b = *rc::gen::inRange<std::int64_t>(1, 1000);
  RC_ASSERT(ceil_div(a, b) * b >= a);
  RC_ASSERT((ceil_div(a, b) - 1) * b < a || a == 0);
  RC_ASSERT(round_up(a, b) % b == 0);
}

}  // namespace
}  // namespace gemmsmith
