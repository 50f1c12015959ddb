// A config's text is its identity: it must survive the way to text and back, and refuse nonsense by
// name.
#include "space/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "space/family.h"

namespace gemmsmith {
namespace {

Config any_config(const Family& family) {
  Config config{&family, {}};
  for (const Parameter& parameter : family.parameters)
    config.values.push_back(*rc::gen::elementOf(parameter.values));
  return config;
}

RC_GTEST_PROP(Config, TextRoundTripIsIdentity, ()) {
  const Family* family = *rc::gen::elementOf(
      std::vector<const Family*>(kernel_families().begin(), kernel_families().end()));
  const Config config = any_config(*family);
  const auto back = parse_config(to_text(config), kernel_families());
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == config);
}

RC_GTEST_PROP(Config, KernelTextForgetsLaunchTimeParametersOnly, ()) {
  Config config = any_config(sm90_ws_family());
  const std::string before = kernel_text(config);
  config.set("group", config.at("group") == 4 ? 8 : 4);
  config.set("pdl", 1 - config.at("pdl"));
  RC_ASSERT(kernel_text(config) == before);
  config.set("stages", config.at("stages") == 3 ? 4 : 3);
  RC_ASSERT(kernel_text(config) != before);
}

RC_GTEST_PROP(Config, ParsingAnyTextNeverCrashes, (const std::string& text)) {
  const auto config = parse_config(text, kernel_families());
  if (!config) RC_ASSERT(config.error().code == ErrorCode::kBadInput);
}

TEST(Config, DefaultsAreOmitted) {
  EXPECT_EQ(to_text(default_config(sm90_ws_family())), "sm90_ws");
  EXPECT_EQ(to_text(default_config(sm80_mma_family())), "sm80_mma");
}

TEST(Config, EveryCodeIsUniqueWithinItsFamily) {
  for (const Family* family : kernel_families())
    for (std::size_t i = 0; i < family->parameters.size(); ++i)
      for (std::size_t j = i + 1; j < family->parameters.size(); ++j) {
        EXPECT_NE(family->parameters[i].code, family->parameters[j].code) << family->name;
        EXPECT_NE(family->parameters[i].name, family->parameters[j].name) << family->name;
      }
}

struct BadText {
  const char* text;
  const char* message;
};

class BadConfigText : public testing::TestWithParam<BadText> {};

TEST_P(BadConfigText, IsRefusedByName) {
  const auto config = parse_config(GetParam().text, kernel_families());
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::kBadInput);
  EXPECT_NE(config.error().what.find(GetParam().message), std::string::npos) << config.error().what;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadConfigText,
    testing::Values(
        BadText{"sm70:m128",
                "config 'sm70:m128': no family or preset of that name; the families are sm90_ws, "
                "sm80_mma"},
        BadText{"sm90_ws:q3", "config 'sm90_ws:q3': 'q3' is no parameter of sm90_ws; it has"},
        BadText{"sm90_ws:m128.m64", "config 'sm90_ws:m128.m64': tile_m is given twice"},
        BadText{"sm90_ws:m", "the value of tile_m in 'm' is not a small number"},
        BadText{"sm90_ws:m99999999999999999999", "is not a small number"},
        BadText{"", "no family or preset of that name"}));

}  // namespace
}  // namespace gemmsmith
