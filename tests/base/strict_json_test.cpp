// Nothing of a text is dropped without a word.
#include "base/strict_json.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

namespace gemmsmith {
namespace {

using namespace std::string_view_literals;

TEST(StrictJson, ReadsWhatOthersRead) {
  for (const std::string_view text :
       {R"({"m":1,"n":{"m":2},"k":[{"m":3},{"m":4}]})"sv, "[]"sv, " 7 "sv, R"("a\u0000b")"sv}) {
    const auto value = parse_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*value, nlohmann::json::parse(text));
  }
}

TEST(StrictJson, SaysWhatIsWrong) {
  const std::pair<std::string_view, const char*> kTexts[] = {
      {"{\"m\":1}\0,\"m\":2"sv, "a NUL byte at byte 8"},
      {"\0"sv, "a NUL byte at byte 1"},
      {R"({"m":1,"n":2,"m":3})"sv, "the key 'm' is given twice"},
      {R"({"a":{"m":1,"m":1}})"sv, "the key 'm' is given twice"},
      {R"([{"m":1,"\u006d":1}])"sv, "the key 'm' is given twice"},
      {R"({"m":1)"sv, "not JSON: wrong or cut off at byte 7"},
      {"{\"m\":1} x"sv, "not JSON: wrong or cut off at byte 9"},
      {""sv, "not JSON: wrong or cut off at byte 1"},
      {"{\"m\":\"\xff\"}"sv, "not JSON: wrong or cut off at byte 7"},
      {"{\"m\":1e999}"sv, "a number that does not fit"}};
  for (const auto& [text, what] : kTexts) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(value.error().what, what) << text;
  }
}

RC_GTEST_PROP(StrictJson, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto value = parse_json(text);
  // Not one RC_ASSERT of both: it looks at either side of an ||.
  if (value)
    RC_ASSERT(*value == nlohmann::json::parse(text));
  else
    RC_ASSERT(value.error().what.find("exception") == std::string::npos);
}

}  // namespace
}  // namespace gemmsmith
