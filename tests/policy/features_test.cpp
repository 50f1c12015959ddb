#include "policy/features.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

#include "policy/analytic_ranker.h"
#include "support/problems.h"

namespace gemmsmith::policy {
namespace {

using test::problem_of;

std::vector<float> row_of(const Problem& problem, const Config& config, const Target& target) {
  std::vector<float> row(feature_count());
  FeatureRows(problem, target).fill(config, row);
  return row;
}

float feature(std::string_view name, const Problem& problem, std::string_view config) {
  const auto row = row_of(problem, *parse_config(config, kernel_families()), *known_target("h200"));
  for (std::size_t i = 0; i < row.size(); ++i)
    if (feature_names()[i].name == name) return row[i];
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

TEST(Features, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const FeatureName& name : feature_names()) EXPECT_TRUE(names.insert(name.name).second);
  EXPECT_EQ(names.size(), feature_count());
}

TEST(Features, ProblemComesFirstAndIsTheSameForEveryConfig) {
  const Problem problem = problem_of(512, 4096, 256);
  const Target target = *known_target("h200");
  const auto a = row_of(problem, *parse_config("sm90_ws:w2.m128.n256", kernel_families()), target);
  const auto b = row_of(problem, *parse_config("sm80_mma:m32.n32", kernel_families()), target);
  ASSERT_GT(problem_feature_count(), 5U);
  EXPECT_EQ(feature_names()[problem_feature_count()].name, "log_sms");
  for (std::size_t i = 0; i < problem_feature_count(); ++i) EXPECT_EQ(a[i], b[i]) << i;
  EXPECT_NE(a, b);
}

// 264 tiles of 128x128 on 132 SMs are two whole waves; 265 would be 2.007.
TEST(Features, TailWasteIsZeroForWholeWaves) {
  EXPECT_NEAR(feature("tail_waste", problem_of(128 * 12, 128 * 22, 512), "sm90_ws:w2.m128.n128"), 0,
              1e-6);
  EXPECT_NEAR(feature("tail_waste", problem_of(128 * 133, 128, 512), "sm90_ws:w2.m128.n128"),
              std::log2(2.0 * 132 / 133), 1e-5);
}

TEST(Features, PaddingIsWhatRoundingUpWastes) {
  EXPECT_NEAR(feature("padding_m", problem_of(96, 64, 64), "sm90_ws:m64.n64"),
              std::log2(128.0 / 96), 1e-5);
  EXPECT_NEAR(feature("padding_n", problem_of(96, 64, 64), "sm90_ws:m64.n64"), 0, 1e-6);
}

TEST(Features, MulticastSavesHalfOfEachSharedOperand) {
  EXPECT_NEAR(
      feature("multicast_saving", problem_of(4096, 4096, 4096), "sm90_ws:w2.m128.n128.cm2.cn2"),
      0.5, 1e-6);
  EXPECT_NEAR(feature("multicast_saving", problem_of(4096, 4096, 4096), "sm90_ws:w2.m128.n128"), 0,
              1e-6);
}

// A card is its figures: the same figures under another name are the same target.
TEST(Features, TargetsNameDoesNotCount) {
  const Problem problem = problem_of(512, 512, 512);
  const Config config = *parse_config("sm90_ws:w2.m128.n128", kernel_families());
  Target target = *known_target("h200");
  const auto before = row_of(problem, config, target);
  target.name = "another";
  EXPECT_EQ(row_of(problem, config, target), before);
  target.sm_count = 66;
  EXPECT_NE(row_of(problem, config, target), before);
}

// Trained policies rely on what features mean. When this fails for a good reason (the time model
// was improved, say), raise kFeatureVersion, train data/policy again and write the new sum here.
TEST(Features, MeaningsHaveNotDrifted) {
  const Target target = *known_target("h200");
  double sum = 0;
  for (const char* text : {"sm90_ws:w2.m128.n256.ps1", "sm90_ws:n16.k128.e1.sp1.sk4",
                           "sm90_ws:w2.m128.n128.cm2.cn2", "sm80_mma:m32.n32.wn1.k64.s2"})
    for (const Problem& problem : {problem_of(512, 4096, 2048), problem_of(4096, 4096, 4096)}) {
      const auto row = row_of(problem, *parse_config(text, kernel_families()), target);
      for (std::size_t i = 0; i < row.size(); ++i)
        sum += static_cast<double>(row[i]) * static_cast<double>(1 + i % 7);
    }
  EXPECT_NEAR(sum, 6999.51, 0.01);
}

RC_GTEST_PROP(Features, EveryRowIsFinite, ()) {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 40000); };
  const Problem problem = problem_of(size(), size(), size());
  const Target target = *known_target(*rc::gen::element<std::string>("h200", "a100"));
  const Family& family = *kernel_families()[*rc::gen::inRange<std::size_t>(0, 2)];
  Config config = default_config(family);
  for (std::size_t i = 0; i < config.values.size(); ++i)
    config.values[i] = *rc::gen::elementOf(family.parameters[i].values);
  for (const float value : row_of(problem, config, target)) RC_ASSERT(std::isfinite(value));
}

}  // namespace
}  // namespace gemmsmith::policy
