#include "cli/sweep.h"

#include <gtest/gtest.h>

#include "base/interrupt.h"

namespace gemmsmith::cli {
namespace {

class SweepTest : public ::testing::Test {
 protected:
  void TearDown() override { set_interrupted(false); }
  const std::vector<Problem> problems_ = std::vector<Problem>(3);
};

TEST_F(SweepTest, ReachesAll) {
  const auto done = sweep(problems_, [](const Problem&) -> Result<void> { return {}; });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->done, 3U);
  EXPECT_EQ(end(*done, false), 0);
  EXPECT_EQ(end(*done, true), 1);
}

TEST_F(SweepTest, StopsBetweenTwo) {
  int calls = 0;
  const auto done = sweep(problems_, [&](const Problem&) -> Result<void> {
    if (++calls == 2) set_interrupted(true);
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(done->done, 2U);
  EXPECT_EQ(end(*done, true), 130);
}

TEST_F(SweepTest, WhatWasInterruptedInsideIsNotDone) {
  int calls = 0;
  const auto done = sweep(problems_, [&](const Problem&) -> Result<void> {
    if (++calls == 2) return fail(ErrorCode::kInterrupted, "interrupted while measuring");
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->done, 1U);
  EXPECT_TRUE(done->is_interrupted);
}

// The last one finished in spite of a Ctrl-C: nothing is missing.
TEST_F(SweepTest, AnInterruptAfterAllIsNone) {
  const auto done = sweep(problems_, [calls = 0](const Problem&) mutable -> Result<void> {
    if (++calls == 3) set_interrupted(true);
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(end(*done, false), 0);
}

// Without anything to print, an error is the verb's only answer.
TEST_F(SweepTest, WhereNothingWasFinishedTheErrorIsPassedOn) {
  for (const ErrorCode code : {ErrorCode::kDevice, ErrorCode::kUnsupported}) {
    const auto done =
        sweep(problems_, [&](const Problem&) -> Result<void> { return fail(code, "gone"); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().what, "gone");
  }
}

TEST_F(SweepTest, WhatCannotBeComputedCostsItsOwnShape) {
  int calls = 0;
  const auto done = sweep(problems_, [&](const Problem&) -> Result<void> {
    if (++calls == 2) return fail(ErrorCode::kUnsupported, "no record");
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(done->done, 2U);
  EXPECT_EQ(done->not_done, std::vector<std::string>{"0_0_0"});
  EXPECT_EQ(end(*done, true), 2);
}

TEST_F(SweepTest, AnyOtherErrorKeepsWhatWasFinished) {
  int calls = 0;
  const auto done = sweep(problems_, [&](const Problem&) -> Result<void> {
    if (++calls == 2) return fail(ErrorCode::kEnvironment, "the GPU is gone");
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(done->done, 1U);
  EXPECT_EQ(done->not_done.size(), 2U);
  EXPECT_EQ(end(*done, false), 3);
}

}  // namespace
}  // namespace gemmsmith::cli
