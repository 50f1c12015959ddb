// The plan table that ships is one that today's reader accepts and that covers the shapes it
// claims; and every kernel in it can be launched on other problems than its own, or is refused.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "plan/kernel_chooser.h"
#include "plan/launch_plan.h"
#include "plan/plan_fixtures.h"
#include "plan/plan_likeness.h"
#include "plan/plan_table.h"
#include "policy/policy_file.h"
#include "problem/shape_list.h"
#include "space/kernel_problem.h"
#include "space/workspace.h"

namespace gemmsmith::plan {
namespace {

const std::string kData = std::string(GEMMSMITH_SOURCE_DIR) + "/data/";

Result<PlanTable> shipped() { return PlanTable::open(kData + "plans/h200.plans"); }

TEST(ShippedTable, OpensAndServesWhatWasRecorded) {
  const auto table = shipped();
  ASSERT_TRUE(table) << table.error().what;
  for (const auto& [m, n, k] : {std::tuple{64, 64, 64}, {4096, 4096, 64}, {256, 512, 16384}}) {
    Problem problem = test::problem_of(m, n, k);
    EXPECT_NE(table->find(key_of(problem)), nullptr) << describe(problem);
    problem.beta = 1;
    EXPECT_EQ(table->find(key_of(problem)), nullptr) << describe(problem);
  }
}

// Shapes of real models, in the layouts that layers and their gradients have.
TEST(ShippedTable, OfRealModelsServesWhatWasRecorded) {
  const auto table = PlanTable::open(kData + "plans/h200.plans");
  ASSERT_TRUE(table) << table.error().what;
  std::map<Layout, int> served, ours;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT}) {
    Problem defaults;
    defaults.type = DataType::kBf16;
    defaults.layout = layout;
    const auto shapes = read_shape_list(kData + "shapes/workloads.csv", defaults);
    ASSERT_TRUE(shapes) << shapes.error().what;
    for (const Problem& problem : *shapes) {
      const PlanEntry* const entry = table->find(key_of(problem));
      if (entry == nullptr) continue;
      ++served[layout];
      if (entry->source != PlanSource::kKernel) continue;
      ++ours[layout];
      const std::string text(table->text(*entry));
      EXPECT_EQ(broken_rule({problem, test::h200()}, test::config_of(text.c_str())), nullptr)
          << text << " for " << describe(problem);
      const auto plan = make_launch_plan(entry->recipe, problem);
      ASSERT_TRUE(plan) << text << " for " << describe(problem) << ": " << plan.error().what;
    }
  }
  EXPECT_GE(served[Layout::kTN], 140);
  EXPECT_GE(served[Layout::kNN], 190);
  EXPECT_GE(served[Layout::kNT], 170);
  for (const auto& [layout, count] : ours) EXPECT_GE(count, 55) << name(layout);
}

// Off the grid: ragged, thin, huge, padded, badly aligned, with scalars.
std::vector<Problem> other_problems() {
  std::vector<Problem> problems;
  for (const std::int64_t m : {1, 7, 63, 65, 129, 200, 1000, 5000, 33000})
    for (const std::int64_t n : {1, 8, 24, 100, 328, 1928, 6000})
      for (const std::int64_t k : {1, 8, 72, 100, 1000, 8200, 16392}) {
        Problem problem = test::problem_of(m, n, k);
        problems.push_back(problem);
        problem.beta = 1;
        problem.ldd += 8;
        problem.ldc += 3;
        problem.lda += 8;
        problems.push_back(problem);
        problem.alignment = {16, 16, 2, 2};
        problems.push_back(problem);
      }
  return problems;
}

std::int64_t covered(std::int64_t tiles, int tile) { return tiles * tile; }

// What a constraint admits its recipe can launch, on as many tiles as the problem has, within what
// every launch may take; and the recipe refuses what its loads and stores cannot do, whoever asks.
TEST(ShippedTable, EveryKernelIsLaunchedOnOtherProblemsOrRefused) {
  const auto table = shipped();
  ASSERT_TRUE(table) << table.error().what;
  const std::vector<Problem> problems = other_problems();
  std::map<std::string, const PlanEntry*> kernels;
  for (const PlanEntry& entry : table->entries())
    if (entry.source == PlanSource::kKernel && is_same_work(entry.key, key_of(problems[0])))
      kernels.emplace(table->text(entry), &entry);
  EXPECT_GT(kernels.size(), 200U);
  std::map<std::string, int> launched;
  for (const auto& [text, entry] : kernels) {
    const Config config = test::config_of(text.c_str());
    EXPECT_EQ(entry->recipe, make_recipe(config, signature_of(problems[0]), test::h200())) << text;
    for (const Problem& problem : problems) {
      const bool is_legal = broken_rule({problem, test::h200()}, config) == nullptr;
      const auto plan = make_launch_plan(entry->recipe, problem);
      if (!plan || !is_legal) {
        EXPECT_FALSE(is_legal) << text << " for " << describe(problem) << ": " << plan.error().what;
        continue;
      }
      ++launched[text];
      const auto at = [&, &name = text] { return name + " for " + describe(problem); };
      const Problem own = kernel_problem(problem, config);
      EXPECT_GE(covered(plan->args.tiles_m, entry->recipe.tile_m), own.m) << at();
      EXPECT_GE(covered(plan->args.tiles_n, entry->recipe.tile_n), own.n) << at();
      EXPECT_EQ(std::tuple(plan->args.m, plan->args.n, plan->args.k),
                std::tuple(own.m, own.n, own.k))
          << at();
      EXPECT_EQ(std::tuple(plan->args.ldc, plan->args.ldd), std::tuple(problem.ldc, problem.ldd))
          << at();
      EXPECT_EQ(plan->grid % plan->cluster, 0U) << at();
      EXPECT_LE(plan->workspace_bytes, kMostWorkspaceBytes) << at();
      EXPECT_LE(plan->counters, kMostCounters) << at();
      EXPECT_LE(plan->needs.a, problem.alignment.a) << at();
      EXPECT_LE(plan->needs.b, problem.alignment.b) << at();
      EXPECT_LE(plan->needs.d, problem.alignment.d) << at();
    }
  }
  for (const auto& [text, entry] : kernels)
    EXPECT_GT(launched[text], 0) << text << " is legal for none of them";
}

// With the policy that ships, for the same problems.
TEST(ShippedTable, WhatThePolicyChoosesIsLegalForTheProblem) {
  const auto table = shipped();
  const auto policy = policy::read_policy(kData + "policy/h200_f16_f32_tn.policy");
  ASSERT_TRUE(table && policy);
  const KernelChooser chooser(*table, policy->network, test::h200());
  std::set<std::string> chosen;
  int none = 0;
  int trusted = 0;
  for (const Problem& problem : other_problems()) {
    const PlanEntry* const entry = chooser.best_kernel(problem);
    const bool is_trusted = chooser.evidence(problem).verdict == Evidence::Verdict::kTrusted;
    trusted += is_trusted;
    if (entry == nullptr) {
      EXPECT_FALSE(is_trusted) << describe(problem);
      ++none;
      continue;
    }
    const std::string text(table->text(*entry));
    chosen.insert(text);
    EXPECT_EQ(broken_rule({problem, test::h200()}, test::config_of(text.c_str())), nullptr)
        << text << " for " << describe(problem);
    EXPECT_TRUE(make_launch_plan(entry->recipe, problem)) << text << " for " << describe(problem);
  }
  EXPECT_GT(chosen.size(), 20U);
  EXPECT_GT(none, 0);
  EXPECT_GT(trusted, 0);
}

}  // namespace
}  // namespace gemmsmith::plan
