// What a table suggests for a problem: the kernels of near plans, as the problem can have them.
#include "plan/plan_hints.h"

#include <gtest/gtest.h>

#include "plan/plan_fixtures.h"
#include "plan/plan_table_writer.h"
#include "problem/shape_list.h"
#include "space/family.h"
#include "space/kernel_problem.h"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

using test::h200;
using test::problem_of;

class HintsTest : public ::testing::Test {
 protected:
  void add(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& config) {
    const auto added = writer_.add_kernel_plan(problem_of(m, n, k), test::config_of(config.c_str()),
                                               h200(), {"a cubin", "gemm", 128, 0}, {5, 1.2, 1.1},
                                               PlanTableWriter::Role::kPlan);
    ASSERT_TRUE(added) << added.error().what;
  }
  std::vector<std::string> hints(const Problem& problem, std::size_t most = 8) {
    const auto bytes = writer_.bytes();
    EXPECT_TRUE(bytes) << bytes.error().what;
    const auto table = PlanTable::from_bytes(*bytes, "test");
    std::vector<std::string> texts;
    for (const Config& config : hinted_configs(*table, problem, h200(), most))
      texts.push_back(to_text(config));
    return texts;
  }
  using Texts = std::vector<std::string>;

  PlanTableWriter writer_{{"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"}};
};

TEST_F(HintsTest, NearestPlansComeFirstAndEachKernelOnce) {
  add(64, 64, 256, "sm90_ws:n32.s3");
  add(64, 64, 512, "sm90_ws:n16.s3");
  add(64, 64, 1024, "sm90_ws:n32.s3");
  add(4096, 4096, 4096, "sm90_ws:w2.m128.n256");
  EXPECT_EQ(hints(problem_of(64, 128, 600)),
            (Texts{"sm90_ws:n16.s3", "sm90_ws:t1.n16.s3", "sm90_ws:n32.s3", "sm90_ws:t1.n32.s3"}));
  EXPECT_EQ(hints(problem_of(64, 128, 600), 1), (Texts{"sm90_ws:n16.s3"}));
}

TEST_F(HintsTest, APlanOfTheTransposeSuggestsTheTransposedKernel) {
  add(96, 4096, 512, "sm90_ws:w2.m128.n192.s3");
  EXPECT_EQ(hints(problem_of(4096, 96, 512)).front(), "sm90_ws:t1.w2.m128.n192.s3");
}

TEST_F(HintsTest, OperandsArePackedAsTheProblemNeeds) {
  add(512, 512, 512, "sm90_ws:w2.m128.n96.s3.pf1");
  Problem odd = problem_of(512, 512, 504);
  odd.lda = 505;
  const Texts texts = hints(odd);
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.front(), "sm90_ws:w2.m128.n96.s3.pk1");
}

TEST_F(HintsTest, ATableOfTheVendorsPlansSuggestsNothing) {
  ASSERT_TRUE(
      writer_.add_vendor_plan(problem_of(64, 64, 64), "cublaslt:a66.t20.s35.g3", 0, {5, 1.3, 1.2}));
  EXPECT_TRUE(hints(problem_of(64, 64, 64)).empty());
  EXPECT_TRUE(hints(problem_of(0, 64, 64)).empty());
}

// Every real shape, of types and layouts that the shipped table has no plan for.
TEST(ShippedHints, AreLegalForEveryRealShape) {
  const auto table =
      PlanTable::open(std::string(GEMMSMITH_SOURCE_DIR) + "/data/plans/h200.plans");
  ASSERT_TRUE(table) << table.error().what;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT}) {
    Problem defaults;
    defaults.type = DataType::kBf16;
    defaults.layout = layout;
    const auto problems =
        read_shape_list(std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/workloads.csv", defaults);
    ASSERT_TRUE(problems) << problems.error().what;
    int suggested = 0;
    for (const Problem& problem : *problems) {
      const auto configs = hinted_configs(*table, problem, h200(), 6);
      suggested += configs.empty() ? 0 : 1;
      for (const Config& config : configs)
        EXPECT_EQ(broken_rule({problem, h200()}, config), nullptr)
            << to_text(config) << " for " << describe(problem);
    }
    EXPECT_GT(suggested, 250) << name(layout);
  }
}

}  // namespace
}  // namespace gemmsmith::plan
