// Names of kinds, settings, stages and statuses are part of every file: they read back, and unknown
// ones are refused with the list.
#include "device/measurement.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

template <class Enum, class Parse>
void expect_names(std::initializer_list<const char*> names, const Parse& parse) {
  int value = 0;
  for (const char* text : names) {
    const Result<Enum> parsed = parse(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(static_cast<int>(*parsed), value++) << text;
    EXPECT_STREQ(name(*parsed), text);
  }
}

TEST(Measurement, NamesReadBack) {
  expect_names<Kind>({"kernel", "vendor", "cublas", "cublas_autotune", "lt_first", "lt_tuned"},
                     parse_kind);
  expect_names<Setting>({"chained", "foreign"}, parse_setting);
  expect_names<CacheState>({"cold", "hot"}, parse_cache_state);
  expect_names<Stage>({"screen", "final"}, parse_stage);
  expect_names<Status>({"ok", "compile", "spill", "serialised", "launch", "timeout", "fault",
                        "wrong", "nondeterministic", "floor"},
                       parse_status);
}

TEST(Measurement, UnknownNamesAreRefusedWithTheList) {
  const auto kind = parse_kind("cuda");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(kind.error().what,
            "unknown kind 'cuda': expected kernel, vendor, cublas, cublas_autotune, lt_first, "
            "lt_tuned");
  EXPECT_EQ(parse_stage("").error().what, "unknown stage '': expected screen, final");
}

}  // namespace
}  // namespace gemmsmith
