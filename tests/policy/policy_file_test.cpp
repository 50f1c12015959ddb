#include "policy/policy_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policy/small_network.h"
#include "support/scratch.h"

namespace gemmsmith::policy {
namespace {

std::string refusal(std::string bytes) {
  const auto read = parse_policy(bytes, "a.policy");
  return read ? "accepted" : read.error().what;
}

RC_GTEST_PROP(PolicyFile, WhatIsWrittenIsReadBack, ()) {
  const PolicyFile written{small_network(*rc::gen::inRange(0U, 1000U), *rc::gen::inRange(1, 20)),
                           *rc::gen::string<std::string>()};
  const auto read = parse_policy(format_policy(written), "a.policy");
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->network == written.network);
  RC_ASSERT(read->origin == written.origin);
}

TEST(PolicyFile, EveryTruncationIsRefused) {
  const std::string whole = format_policy({small_network(1), "{}"});
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_NE(refusal(whole.substr(0, length)), "accepted") << length;
  EXPECT_EQ(
      refusal(whole.substr(0, 100)),
      fmt::format("a.policy: a policy cut short: 100 of {} bytes; copy it again", whole.size()));
  EXPECT_EQ(refusal(whole.substr(0, 20)),
            "a.policy: a policy cut short after 20 bytes; copy it again");
}

TEST(PolicyFile, EveryFlippedByteIsRefused) {
  const std::string whole = format_policy({small_network(1), "{}"});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    ASSERT_NE(refusal(damaged), "accepted") << i;
  }
  std::string damaged = whole;
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  EXPECT_EQ(refusal(damaged),
            "a.policy: a damaged policy: its checksum does not match; copy it again");
}

TEST(PolicyFile, AnotherVersionIsRefusedByName) {
  std::string other = format_policy({small_network(1), "{}"});
  other[8] = 9;
  EXPECT_EQ(refusal(other),
            "a.policy: a policy of version 9, this program reads 1; train it again");
}

TEST(PolicyFile, AnotherKindOfFileIsRefused) {
  EXPECT_EQ(refusal("m,n,k\n1,2,3\n and more to be longer than a header"),
            "a.policy: is not a policy file (see gemmsmith train)");
  EXPECT_EQ(refusal("m,n,k"), "a.policy: is not a policy file (see gemmsmith train)");
}

// A network whose parts do not fit each other is well-formed as a file.
TEST(PolicyFile, ANetworkForOtherFeaturesIsRefused) {
  Network network = small_network(1);
  network.mean.pop_back();
  network.scale.pop_back();
  EXPECT_EQ(
      refusal(format_policy({network, "{}"})),
      fmt::format("a.policy: the network was made for {} features, this program has {}; train "
                  "it again",
                  feature_count() - 1, feature_count()));
}

TEST(PolicyFile, AnotherFeatureSetIsRefusedByName) {
  EXPECT_EQ(refusal(format_policy({small_network(1), "{}"}, feature_set() + 1)),
            "a.policy: a policy for another feature set than this program's; train it again");
}

RC_GTEST_PROP(PolicyFile, AnyTextIsSafe, ()) {
  const auto text = *rc::gen::string<std::string>();
  RC_ASSERT(!parse_policy(text, "a.policy").has_value());
  const std::string header = format_policy({small_network(1), "{}"}).substr(0, 32);
  RC_ASSERT(!parse_policy(header + text, "a.policy").has_value());
}

TEST(PolicyFile, GoesThroughTheDisk) {
  const testing::ScratchFolder folder;
  const PolicyFile written{small_network(3), R"({"seed":1})"};
  ASSERT_TRUE(write_policy(folder / "a.policy", written));
  EXPECT_EQ(read_policy(folder / "a.policy")->network, written.network);
  EXPECT_FALSE(read_policy(folder / "none.policy"));
}

TEST(PolicyFile, SaysWhichDeviceItLearntFrom) {
  PolicyFile policy;
  policy.origin = R"({"device":"NVIDIA H200, 132 SMs, sm_90, driver 580.1"})";
  EXPECT_EQ(trained_on(policy), "NVIDIA H200, 132 SMs, sm_90, driver 580.1");
  for (const char* origin : {"", "{}", "[1]", "{\"device\":3}", "not JSON"}) {
    policy.origin = origin;
    EXPECT_EQ(trained_on(policy), "") << origin;
  }
}

}  // namespace
}  // namespace gemmsmith::policy
