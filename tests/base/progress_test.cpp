// progress_test.cpp -- what a log file (not a terminal) sees of progress.
#include "base/progress.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

TEST(Progress, DurationsAreForPeople) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7300), "2 h 1 min");
}

TEST(Progress, AFileGetsTheFirstAndTheLastLine) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("shapes", 3, false);
    line.update(1, "64_64_64");
    line.update(2, "64_64_128");
    line.update(3, "64_64_256");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "1/3 shapes in 0 s, 0 s left  64_64_64\n3/3 shapes in 0 s  64_64_256\n");
}

TEST(Progress, QuietSaysNothing) {
  ::testing::internal::CaptureStderr();
  ProgressLine("shapes", 1, true).update(1, "x");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace gemmsmith
