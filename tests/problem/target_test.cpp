// target_test.cpp -- the published cards are known, and only architectures with kernels are taken.
#include "problem/target.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

TEST(Target, KnowsThePublishedCards) {
  EXPECT_EQ(known_target("a100")->sm_count, 108);
  EXPECT_EQ(known_target("h100")->compute_capability, 90);
  EXPECT_EQ(known_target("h200")->shared_bytes_per_block, 227 << 10);
  EXPECT_EQ(known_target("b200").error().what,
            "unknown target 'b200': expected a100, h100 or h200");
}

TEST(Target, NamesTheArchitectureToCompileFor) {
  EXPECT_EQ(*compile_architecture(80), "sm_80");
  EXPECT_EQ(*compile_architecture(90), "sm_90a");
}

TEST(Target, OtherGpusAreRefusedByCapability) {
  for (const int capability : {70, 75, 86, 89, 100, 120}) {
    const auto architecture = compile_architecture(capability);
    ASSERT_FALSE(architecture) << capability;
    EXPECT_EQ(architecture.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(architecture.error().what,
              fmt::format("compute capability {}.{}: gemmsmith has kernels for 8.0 (A100) and 9.0 "
                          "(H100, H200)",
                          capability / 10, capability % 10));
  }
}

}  // namespace
}  // namespace gemmsmith
