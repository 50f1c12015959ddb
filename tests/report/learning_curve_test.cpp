#include "report/learning_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gemmsmith::report {
namespace {

constexpr const char* kHeader = "split,searcher,measure,value,low,high\n";

std::string error_of(const std::string& text) {
  const auto curves = parse_learning_curves(text, "c.csv");
  return curves ? "no error" : curves.error().what;
}

TEST(LearningCurve, TakesFoundAndSortsItByMeasurements) {
  const auto curves = parse_learning_curves(std::string(kHeader) +
                                                "random:0/5,policy,found@16,0.99,0.98,1\n"
                                                "random:0/5,policy,picked@16,0.9,0.9,0.9\n"
                                                "random:0/5,random,found@1,0.8,0.7,0.9\r\n"
                                                "random:0/5,policy,found@2,0.95,0.94,0.96\n",
                                            "c.csv");
  ASSERT_TRUE(curves) << curves.error().what;
  ASSERT_EQ(curves->size(), 2U);
  const LearningCurve& policy = curves->front();
  EXPECT_EQ(policy.searcher, "policy");
  EXPECT_EQ(policy.split, "random:0/5");
  ASSERT_EQ(policy.points.size(), 2U);
  EXPECT_EQ(policy.points[0].measurements, 2);
  EXPECT_EQ(policy.points[1].found, 0.99);
  EXPECT_EQ(policy.points[1].low, 0.98);
}

TEST(LearningCurve, NamesWhatIsWrongWithItsLine) {
  EXPECT_EQ(error_of("a,b\n"), "c.csv:1: header: expected 'split,searcher,measure,value,low,high'");
  EXPECT_EQ(error_of(kHeader),
            "c.csv: holds no learning curve: expected rows with measure found@N");
  EXPECT_EQ(error_of(std::string(kHeader) + "s,p,found@1,0.5,0.5\n"),
            "c.csv:2: expected the 6 fields split,searcher,measure,value,low,high");
  EXPECT_EQ(error_of(std::string(kHeader) + "s,p,found@1,0.5,0.5,0.5,0.5\n"),
            "c.csv:2: expected the 6 fields split,searcher,measure,value,low,high");
  EXPECT_EQ(error_of(std::string(kHeader) + "s,p,found@0,0.5,0.5,0.5\n"),
            "c.csv:2: measure: 'found@0' does not end in a number of measurements from 1 to "
            "1000000");
  EXPECT_EQ(error_of(std::string(kHeader) + "\ns,p,found@1,0.5,x,0.5\n").substr(0, 13),
            "c.csv:3: low:");
}

TEST(LearningCurve, CommittedResultsAreRead) {
  const auto curves = read_learning_curves(GEMMSMITH_SOURCE_DIR "/bench/search/results/long_k.csv");
  ASSERT_TRUE(curves) << curves.error().what;
  EXPECT_GE(curves->size(), 10U);
  for (const LearningCurve& curve : *curves) EXPECT_EQ(curve.points.size(), 7U) << curve.searcher;
}

RC_GTEST_PROP(LearningCurve, AnyTextIsSafe, (const std::string& text)) {
  const auto curves = parse_learning_curves(kHeader + text, "c.csv");
  if (!curves) RC_ASSERT(!curves.error().what.empty());
}

}  // namespace
}  // namespace gemmsmith::report
