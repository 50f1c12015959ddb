// log_test.cpp -- talk goes to stderr, at the level that was asked for.
#include "base/log.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override { set_log_level(before_); }
  LogLevel before_ = log_level();
};

TEST_F(LogTest, SpeaksOnStderrOnly) {
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  log(LogLevel::kInfo, "shapes={}", 3);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "gemmsmith: info: shapes=3\n");
}

TEST_F(LogTest, KeepsQuietBelowTheLevel) {
  ::testing::internal::CaptureStderr();
  set_log_level(LogLevel::kWarning);
  log(LogLevel::kInfo, "not said");
  set_log_level(LogLevel::kOff);
  log(LogLevel::kError, "not said either");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, BracesInAMessageAreText) {
  set_log_level(LogLevel::kError);
  ::testing::internal::CaptureStderr();
  log(LogLevel::kError, "{}", "{0} {}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "gemmsmith: error: {0} {}\n");
}

}  // namespace
}  // namespace gemmsmith
