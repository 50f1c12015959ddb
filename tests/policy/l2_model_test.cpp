#include "policy/l2_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "policy/kernel_model.h"
#include "space/family.h"
#include "support/problems.h"

namespace gemmsmith::policy {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

using test::problem_of;

Config config_of(const std::string& text) { return *parse_config(text, kernel_families()); }

L2Traffic traffic_of(const Problem& problem, const std::string& config, const L2Organisation& l2,
                     const char* target = "h200") {
  const auto traffic = predict_l2(problem, config_of(config), *known_target(target), l2);
  EXPECT_TRUE(traffic) << traffic.error().what;
  return traffic ? *traffic : L2Traffic{};
}

// Legal ones of both families, with clusters, splits, both rasters and many groups.
Config any_config(const Problem& problem) {
  static const std::vector<std::string> kKernels = {
      "sm90_ws:w2.m128.n256", "sm90_ws:w2.m128.n128.cm2.s3", "sm90_ws:w2.m128.n128.cn2.s3",
      "sm90_ws:n64.s6",       "sm90_ws:n64.e1.sp1.s6.sk4",   "sm80_mma:m64.n64.s2",
  };
  std::vector<Config> legal;
  for (const std::string& kernel : kKernels) {
    Config config = config_of(kernel);
    config.set("group", *rc::gen::element(1, 2, 4, 8, 16, 32));
    config.set("raster", *rc::gen::inRange(0, 2));
    if (broken_rule({problem, *known_target("h200")}, config) == nullptr) legal.push_back(config);
  }
  RC_PRE(!legal.empty());
  return *rc::gen::elementOf(legal);
}

Problem any_problem() {
  const auto size = [] { return std::int64_t{8} * *rc::gen::inRange(16, 400); };
  return problem_of(size(), size(), size());
}

// Whatever the order, a cache that forgets nothing fetches each operand once.
RC_GTEST_PROP(L2Model, AnInfiniteCacheFetchesEachOperandOnce, ()) {
  const Problem problem = any_problem();
  for (const int partitions : {1, 2}) {
    const auto traffic =
        predict_l2(problem, any_config(problem), *known_target("h200"), {kInfinite, partitions});
    RC_ASSERT(traffic.has_value());
    RC_ASSERT(std::abs(traffic->memory() / traffic->compulsory - 1) < 1e-9);
  }
}

// Every read is found somewhere, and memory never moves less than it must nor more than was asked.
RC_GTEST_PROP(L2Model, ReadsAddUp, ()) {
  const Problem problem = any_problem();
  const L2Organisation l2{double(*rc::gen::inRange(0, 1 << 24)), *rc::gen::inRange(1, 3)};
  const auto traffic = predict_l2(problem, any_config(problem), *known_target("h200"), l2);
  RC_ASSERT(traffic.has_value());
  RC_ASSERT(std::abs((traffic->near + traffic->far + traffic->memory_read) / traffic->requested -
                     1) < 1e-9);
  RC_ASSERT(traffic->memory() >= traffic->compulsory * (1 - 1e-9));
  RC_ASSERT(traffic->memory_read <= traffic->requested * (1 + 1e-9));
  RC_ASSERT(l2.partitions == 2 || traffic->far == 0);
}

// Replacement by age has no anomaly: what a cache holds, a larger one holds too.
RC_GTEST_PROP(L2Model, ALargerCacheNeverFetchesMore, ()) {
  const Problem problem = any_problem();
  const Config config = any_config(problem);
  const Target target = *known_target("h200");
  double least = kInfinite;
  for (const double bytes : {0.0, 1e5, 1e6, 3e6, 1e7, 1e8}) {
    const auto traffic = predict_l2(problem, config, target, {bytes, 1});
    RC_ASSERT(traffic.has_value());
    RC_ASSERT(traffic->memory_read <= least * (1 + 1e-9));
    least = traffic->memory_read;
  }
}

TEST(L2Model, WithoutACacheEveryReadIsMemorys) {
  const L2Traffic traffic = traffic_of(problem_of(512, 512, 512), "sm90_ws:w2.m128.n128", {0, 2});
  EXPECT_EQ(traffic.hit_rate(), 0);
  // 16 tiles of 128 x 128, each reading 2 x 128 rows of 512 elements of 2 bytes.
  EXPECT_NEAR(traffic.requested, 16 * 2 * 128 * 512 * 2.0, 1);
  EXPECT_NEAR(traffic.memory_read, traffic.requested, 1);
}

TEST(L2Model, MulticastAsksOnceForACluster) {
  const Problem problem = problem_of(512, 512, 512);
  const L2Organisation l2{kInfinite, 2};
  const double alone = traffic_of(problem, "sm90_ws:w2.m128.n128.s3", l2).requested;
  EXPECT_NEAR(traffic_of(problem, "sm90_ws:w2.m128.n128.cm2.s3", l2).requested, 0.75 * alone, 1);
  EXPECT_NEAR(traffic_of(problem, "sm90_ws:w2.m128.n128.cm2.cn2.s3", l2).requested, 0.5 * alone, 1);
}

// Rows beyond D's edge are not read, nor are tiles that only fill a cluster.
TEST(L2Model, EdgesAskForWhatIsThere) {
  const L2Traffic traffic =
      traffic_of(problem_of(136, 136, 256), "sm90_ws:w2.m128.n128.cm2.cn2.s3", {kInfinite, 1});
  EXPECT_NEAR(traffic.requested, (136 + 136) * 256 * 2.0, 1e-6);
}

TEST(L2Model, BetaReadsC) {
  Problem problem = problem_of(512, 256, 512);
  const L2Organisation l2{kInfinite, 2};
  const double without = traffic_of(problem, "sm90_ws:w2.m128.n128", l2).memory();
  problem.beta = 1;
  EXPECT_NEAR(traffic_of(problem, "sm90_ws:w2.m128.n128", l2).memory() - without, 512 * 256 * 2, 1);
}

// What both sides read is kept twice, so two halves hold less than one whole.
TEST(L2Model, TwoPartitionsHoldLessThanOne) {
  const Problem problem = problem_of(8192, 8192, 8192);
  const double bytes = 60 << 20;
  const L2Traffic one = traffic_of(problem, "sm90_ws:w2.m128.n256", {bytes, 1});
  const L2Traffic two = traffic_of(problem, "sm90_ws:w2.m128.n256", {bytes, 2});
  EXPECT_GT(two.memory_read, one.memory_read);
  EXPECT_GT(two.far, 0);
}

// A window of 132 tiles of 128 x 256 shares most when it is about square: 16 rows by 8 columns.
TEST(L2Model, SquareWindowsReadLeast) {
  const Problem problem = problem_of(16384, 16384, 4096);
  const auto memory = [&](int group) {
    return predict_l2(problem, config_of(fmt::format("sm90_ws:w2.m128.n256.g{}", group)),
                      *known_target("h200"))
        ->memory();
  };
  EXPECT_LT(memory(16), memory(4));
  EXPECT_LT(memory(4), memory(1));
}

TEST(L2Model, ForeignConfigsAreRefusedWithAReason) {
  const Target target = *known_target("a100");
  const auto illegal =
      predict_l2(problem_of(64, 64, 64), config_of("sm90_ws:w2.m128.n256"), target);
  ASSERT_FALSE(illegal);
  EXPECT_EQ(illegal.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(illegal.error().what.find("is not legal for 64_64_64 f16/f32 tn"), std::string::npos)
      << illegal.error().what;
  Family other;
  other.name = "other";
  const auto foreign = predict_l2(problem_of(64, 64, 64), {&other, {}}, target);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().what.find("name a config of ours"), std::string::npos)
      << foreign.error().what;
}

TEST(L2Model, NothingToComputeMovesNothing) {
  const L2Traffic traffic =
      *predict_l2(problem_of(0, 64, 64), config_of("sm80_mma:m64.n64.s2"), *known_target("a100"));
  EXPECT_EQ(traffic.memory(), 0);
  EXPECT_EQ(traffic.hit_rate(), 1);
}

}  // namespace
}  // namespace gemmsmith::policy
