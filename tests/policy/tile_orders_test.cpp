// Which other tile orders of a kernel there are, and which of them the L2 model expects to be
// quieter.
#include "policy/tile_orders.h"

#include <gtest/gtest.h>

#include "policy/l2_model.h"
#include "support/problems.h"

namespace gemmsmith::policy {
namespace {

using test::problem_of;

const Target kH200 = *known_target("h200");

Config config_of(const char* text) { return *parse_config(text, kernel_families()); }

TEST(TileOrders, DifferInTheOrderAlone) {
  const Problem problem = problem_of(8192, 8192, 1024);
  const SpaceContext context{problem, kH200};
  const Config config = config_of("sm90_ws:w2.m128.n256.ps1");
  const std::vector<Config> others = other_orders(config, context);
  EXPECT_GT(others.size(), 8U);
  for (const Config& other : others) {
    EXPECT_FALSE(other == config);
    Config same = other;
    same.set("group", config.at("group"));
    same.set("raster", config.at("raster"));
    EXPECT_TRUE(same == config) << to_text(other);
    EXPECT_EQ(broken_rule(context, other), nullptr) << to_text(other);
  }
}

TEST(TileOrders, QuieterOnesMoveLessTheLeastFirst) {
  const Problem problem = problem_of(12288, 16384, 4096);
  const SpaceContext context{problem, kH200};
  const Config config = config_of("sm90_ws:w2.pp1.m128.n192.ps1.g4");
  const auto memory = [&](const Config& one) {
    return predict_l2(context.problem, one, context.target)->memory();
  };
  const std::vector<Config> quieter = quieter_orders(config, context, 0.85, 3);
  ASSERT_EQ(quieter.size(), 3U);
  double last = 0;
  for (const Config& order : quieter) {
    EXPECT_LT(memory(order), 0.85 * memory(config)) << to_text(order);
    EXPECT_GE(memory(order), last);
    last = memory(order);
  }
  for (const Config& other : other_orders(config, context))
    EXPECT_GE(memory(other), memory(quieter[0])) << to_text(other);
  EXPECT_TRUE(quieter_orders(quieter[0], context, 0.85, 3).empty());
}

TEST(TileOrders, WhatFitsL2HasNoneThatIsQuieter) {
  const Problem problem = problem_of(512, 512, 512);
  EXPECT_TRUE(quieter_orders(config_of("sm90_ws:n64.s2"), {problem, kH200}, 0.99, 9).empty());
}

}  // namespace
}  // namespace gemmsmith::policy
