#include <gtest/gtest.h>

#include "device/scoped_environment.h"
#include "train/learner.h"

namespace gemmsmith::train {
namespace {

TEST(OpenLearner, AnAbsentLibraryIsNamedWithWhatToInstall) {
  const test::ScopedEnvironment place("GEMMSMITH_LEARNER", "/nowhere/liblearner.so");
  const auto opened = open_learner();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(opened.error().what.find("/nowhere/liblearner.so"), std::string::npos);
  EXPECT_NE(opened.error().what.find("libtorch-dev"), std::string::npos);
}

}  // namespace
}  // namespace gemmsmith::train
