#include "search/compiler_knobs.h"

#include <gtest/gtest.h>

#include <string>

#include "vendor/all_families.h"

namespace gemmsmith {
namespace {

std::string variants_of(const char* text, const char* target = "h200") {
  Problem problem;
  problem.m = problem.n = problem.k = 4096;
  std::string list;
  for (const Config& variant : legal_knob_variants(*parse_config(text, all_families()),
                                                   *make_problem(problem), *known_target(target)))
    list += (list.empty() ? "" : " ") + to_text(variant);
  return list;
}

TEST(CompilerKnobs, EachIsTurnedAlone) {
  EXPECT_EQ(variants_of("sm80_mma:m128"),
            "sm80_mma:m128.rul0 sm80_mma:m128.rul1 sm80_mma:m128.rul2 sm80_mma:m128.rul3 "
            "sm80_mma:m128.rul4 sm80_mma:m128.rul6 sm80_mma:m128.rul7 sm80_mma:m128.rul8 "
            "sm80_mma:m128.rul9 sm80_mma:m128.rul10 sm80_mma:m128.mr64 sm80_mma:m128.mr96 "
            "sm80_mma:m128.mr128 sm80_mma:m128.mr168 sm80_mma:m128.mr255");
}

TEST(CompilerKnobs, AVariantsVariantsAreItsBases) {
  EXPECT_EQ(variants_of("sm80_mma:m128.rul7.mr96"), variants_of("sm80_mma:m128"));
}

TEST(CompilerKnobs, WhatIsIllegalHasNone) {
  EXPECT_NE(variants_of("sm90_ws:w2.m128.n256"), "");
  EXPECT_EQ(variants_of("sm90_ws:w2.m128.n256", "a100"), "");
}

TEST(CompilerKnobs, TheVendorsFamilyHasNone) { EXPECT_EQ(variants_of("cublaslt:a66.t20"), ""); }

TEST(CompilerKnobs, DefaultsAreTold) {
  EXPECT_TRUE(has_default_knobs(*parse_config("sm80_mma:m128", all_families())));
  EXPECT_FALSE(has_default_knobs(*parse_config("sm80_mma:m128.mr96", all_families())));
  EXPECT_FALSE(has_default_knobs(*parse_config("sm90_ws:rul7", all_families())));
  EXPECT_TRUE(has_default_knobs(*parse_config("cublaslt:a66.t20", all_families())));
}

}  // namespace
}  // namespace gemmsmith
