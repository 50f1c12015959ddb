// The plan table that ships is one that today's reader accepts and that covers the shapes it
// claims.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "plan/plan_table.h"

namespace gemmsmith::plan {
namespace {

TEST(ShippedTable, OpensAndServesWhatWasRecorded) {
  const auto table =
      PlanTable::open(std::string(GEMMSMITH_SOURCE_DIR) + "/data/plans/h200_f16_f32_tn.plans");
  ASSERT_TRUE(table) << table.error().what;
  for (const auto& [m, n, k] : {std::tuple{64, 64, 64}, {4096, 4096, 64}, {256, 512, 16384}}) {
    Problem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem = *make_problem(problem);
    EXPECT_NE(table->find(key_of(problem)), nullptr) << describe(problem);
    problem.beta = 1;
    EXPECT_EQ(table->find(key_of(problem)), nullptr) << describe(problem);
  }
}

}  // namespace
}  // namespace gemmsmith::plan
