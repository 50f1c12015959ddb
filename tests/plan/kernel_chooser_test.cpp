// What a table and a policy say of problems that have no plan. Networks here are untrained: which
// kernel is best is theirs to say, what may be chosen is not.
#include "plan/kernel_chooser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "plan/plan_fixtures.h"
#include "plan/plan_table_writer.h"
#include "policy/policy_file.h"
#include "policy/small_network.h"

namespace gemmsmith::plan {
namespace {

using test::h200;
using test::problem_of;
using Verdict = Evidence::Verdict;

class ChooserTest : public ::testing::Test {
 protected:
  void add(const Problem& problem, const std::string& config, double chained, double foreign,
           PlanTableWriter::Role role = PlanTableWriter::Role::kPlan) {
    const auto added =
        writer_.add_kernel_plan(problem, test::config_of(config.c_str()), h200(),
                                {"a cubin", "gemm", 128, 0}, {5, chained, foreign}, role);
    ASSERT_TRUE(added) << added.error().what;
  }
  void add_vendor(const Problem& problem) {
    ASSERT_TRUE(writer_.add_vendor_plan(problem, "cublaslt:a66.t20.s35.g3", 0, {5, 1.3, 1.2}));
  }
  // Plans of eight products with sizes of 64 and 128, by kernels that gained so much.
  void add_eight(double chained, double foreign) {
    for (const std::int64_t m : {64, 128})
      for (const std::int64_t n : {64, 128})
        for (const std::int64_t k : {64, 128})
          add(problem_of(m, n, k), m == 64 ? "sm90_ws:s2" : "sm80_mma:s2", chained, foreign);
  }
  const KernelChooser& chooser() {
    auto bytes = writer_.bytes();
    EXPECT_TRUE(bytes) << bytes.error().what;
    table_ = std::make_unique<PlanTable>(*PlanTable::from_bytes(*bytes, "test"));
    chooser_ = std::make_unique<KernelChooser>(*table_, network_, h200());
    return *chooser_;
  }
  std::string best(const Problem& problem) {
    const PlanEntry* const entry = chooser_->best_kernel(problem);
    return entry != nullptr ? std::string(table_->text(*entry)) : "";
  }

  PlanTableWriter writer_{{"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"}};
  policy::Network network_ = policy::small_network(1);
  std::unique_ptr<PlanTable> table_;
  std::unique_ptr<KernelChooser> chooser_;
};

TEST_F(ChooserTest, GainIsTheMeanOfTheLesserSettings) {
  add_eight(1.5, 1.1);
  const Evidence evidence = chooser().evidence(problem_of(96, 96, 96));
  EXPECT_EQ(evidence.verdict, Verdict::kTrusted);
  EXPECT_NEAR(evidence.gain, std::log(1.1), 1e-6);
  EXPECT_NEAR(evidence.sure_gain, std::log(1.1), 1e-4);
  EXPECT_NEAR(evidence.doublings, 3 * std::log2(96.0 / 64), 1e-9);
}

// Half of the plans gained 21 %, the others nothing: the mean alone would do.
TEST_F(ChooserTest, PlansThatDisagreeAreNotTrusted) {
  for (const std::int64_t m : {64, 128})
    for (const std::int64_t n : {64, 128})
      for (const std::int64_t k : {64, 128}) {
        if (k == 64)
          add(problem_of(m, n, k), "sm90_ws:s2", 1.21, 1.21);
        else
          add_vendor(problem_of(m, n, k));
      }
  const Evidence evidence = chooser().evidence(problem_of(96, 96, 96));
  EXPECT_EQ(evidence.verdict, Verdict::kTooLittleGain);
  EXPECT_NEAR(evidence.gain, std::log(1.1), 1e-6)
      << "a plan of the library's counts as none of ours";
  EXPECT_NEAR(evidence.sure_gain, 0, 1e-6);
  EXPECT_EQ(describe(evidence),
            "the 8 nearest plans gained 10.0 % over tuned cuBLASLt in the mean, and 0.0 % less a "
            "standard deviation: 5 % are asked for");
}

TEST_F(ChooserTest, TheNearestDecideWhateverFartherOnesGained) {
  add_eight(1.2, 1.2);
  for (const std::int64_t m : {4096, 8192}) add(problem_of(m, 64, 64), "sm90_ws:s2", 1.0, 1.0);
  EXPECT_EQ(chooser().evidence(problem_of(96, 96, 96)).verdict, Verdict::kTrusted);
}

TEST_F(ChooserTest, FollowersAreNoEvidenceAndNoCandidates) {
  for (const std::int64_t m : {64, 72, 80, 88}) {
    add(problem_of(m, 64, 64), "sm90_ws:s2.d0", 1.2, 1.2);
    add(problem_of(m, 64, 64), "sm90_ws:s2", 1.4, 1.4, PlanTableWriter::Role::kFollower);
  }
  EXPECT_EQ(chooser().evidence(problem_of(96, 64, 64)).verdict, Verdict::kTooFewPlans);
  EXPECT_EQ(best(problem_of(96, 64, 64)), "sm90_ws:s2.d0");
}

TEST_F(ChooserTest, WhatNothingWasShownOfIsNotTrusted) {
  add_eight(1.2, 1.2);
  const KernelChooser& chooser = this->chooser();
  Problem problem = problem_of(96, 96, 96);
  EXPECT_EQ(chooser.evidence(problem).verdict, Verdict::kTrusted);
  EXPECT_EQ(chooser.evidence(test::batch_of(96, 96, 96, 4)).verdict, Verdict::kNotPlain);
  problem.activation = Activation::kRelu;
  EXPECT_EQ(chooser.evidence(problem).verdict, Verdict::kNotPlain);
  EXPECT_EQ(describe(chooser.evidence(problem)),
            "a policy chooses for single products without epilogue only");
  problem = problem_of(96, 96, 96);
  problem.beta = 1;
  EXPECT_EQ(chooser.evidence(problem).verdict, Verdict::kTooFewPlans);
  EXPECT_EQ(describe(chooser.evidence(problem)), "the table has fewer than 8 plans for such work");
  problem = problem_of(96, 96, 100);
  EXPECT_EQ(chooser.evidence(problem).verdict, Verdict::kTooFewPlans) << "rows on 8 bytes";
  problem = problem_of(4096, 96, 96);
  EXPECT_EQ(chooser.evidence(problem).verdict, Verdict::kTooFar);
  EXPECT_EQ(describe(chooser.evidence(problem)),
            "the 8 nearest plans are up to 7.2 doublings of size away, beyond 3");
}

TEST_F(ChooserTest, AnEmptyTableHasNothing) {
  EXPECT_EQ(chooser().evidence(problem_of(96, 96, 96)).verdict, Verdict::kTooFewPlans);
  EXPECT_EQ(best(problem_of(96, 96, 96)), "");
}

// BUG: a policy that had seen tiles of 16 x 16 on small products only took one for 16384 x 8192 x
// 64, which was 16 times slower than cuBLASLt.
TEST_F(ChooserTest, WhatIsPlainlyTooSlowIsNotChosenWhateverTheNetworkSays) {
  const std::string tiny = "sm80_mma:m16.n16.wm1.wn1.k128.wk4.s2";
  add(problem_of(64, 64, 512), tiny, 1.2, 1.2);
  add(problem_of(8192, 8192, 128), tiny, 1.2, 1.2);
  add(problem_of(4096, 4096, 64), "sm90_ws:w2.m128.n128.s2", 1.2, 1.2);
  chooser();
  std::set<std::string> for_small, for_large;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    network_ = policy::small_network(seed);
    for_small.insert(best(problem_of(64, 64, 1024)));
    for_large.insert(best(problem_of(16384, 8192, 64)));
  }
  EXPECT_EQ(for_small.count(tiny), 1U) << "no network likes it";
  EXPECT_EQ(for_large, (std::set<std::string>{"sm90_ws:w2.m128.n128.s2"}));
}

// Of the same work and legal for the problem itself, whatever the network says.
TEST_F(ChooserTest, OnlyLegalKernelsAreChosen) {
  add(problem_of(512, 512, 512), "sm90_ws:w2.m128.n128.cm2", 1.2, 1.2);
  add(problem_of(512, 64, 512), "sm90_ws:s2", 1.2, 1.2);
  add(problem_of(64, 64, 1024), "sm90_ws:e1.s2.sp2.sk8", 1.2, 1.2);
  for (unsigned seed = 0; seed < 20; ++seed) {
    network_ = policy::small_network(seed);
    chooser();
    EXPECT_NE(best(problem_of(64, 64, 2048)), "sm90_ws:w2.m128.n128.cm2")
        << "a cluster of two rows";
    EXPECT_EQ(best(problem_of(64, 64, 128)), "sm90_ws:s2") << "two k tiles are no eight";
    EXPECT_EQ(best(problem_of(8, 7, 64)), "") << "D is not TMA's to write, and k is short";
    EXPECT_NE(best(problem_of(4096, 4096, 4096)), "");
  }
}

// The nearest of the plans that share a recipe is returned: its slot is loaded, and it is the one
// to look at.
TEST_F(ChooserTest, OfARecipesPlansTheNearestIsNamed) {
  add_eight(1.2, 1.2);
  add(problem_of(4096, 4096, 64), "sm90_ws:s2", 1.2, 1.2);
  const PlanEntry* const entry = chooser().best_kernel(problem_of(4096, 2048, 64));
  ASSERT_NE(entry, nullptr);
  if (table_->text(*entry) == "sm90_ws:s2") {
    EXPECT_EQ(entry->key.m, 4096);
  }
}

}  // namespace
}  // namespace gemmsmith::plan
