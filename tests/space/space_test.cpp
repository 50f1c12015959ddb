// Enumeration prunes as it goes; it must find exactly what trying every combination finds, and
// account for every combination once.
#include "space/space.h"
#include "support/problems.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace gemmsmith {
namespace {

using test::problem_of;

// A small family whose space can be tried whole.
bool sum_is_even(const SpaceContext&, const Config& config) {
  return (config.at("x") + config.at("y")) % 2 == 0;
}
bool x_below_m(const SpaceContext& context, const Config& config) {
  return config.at("x") < context.problem.m;
}
bool z_divides_x(const SpaceContext&, const Config& config) {
  return config.at("x") % config.at("z") == 0;
}

const Family& toy() {
  static const Family family = {"toy",
                                "",
                                {{"x", "x", Binding::kCompile, 1, {1, 2, 3, 4, 5, 6}},
                                 {"y", "y", Binding::kCompile, 1, {1, 2, 3, 4}},
                                 {"z", "z", Binding::kLaunch, 1, {1, 2, 3}},
                                 {"knob", "kn", Binding::kCompile, 7, {5, 6, 7}, true}},
                                {{"sum_is_even", "x + y must be even", {"x", "y"}, &sum_is_even},
                                 {"x_below_m", "x must be below m", {"x"}, &x_below_m},
                                 {"z_divides_x", "z must divide x", {"x", "z"}, &z_divides_x}},
                                {}};
  return family;
}

RC_GTEST_PROP(Space, PruningFindsWhatTryingAllFinds, ()) {
  const Problem problem = problem_of(*rc::gen::inRange(1, 8), 1, 1);
  const Target target = *known_target("h200");
  const SpaceContext context{problem, target};
  std::vector<Config> all;
  for (const int x : toy().parameters[0].values)
    for (const int y : toy().parameters[1].values)
      for (const int z : toy().parameters[2].values) {
        const Config config{&toy(), {x, y, z, 7}};
        if (broken_rule(context, config) == nullptr) all.push_back(config);
      }
  std::vector<Config> found;
  const EnumerationReport report = enumerate(toy(), context, [&](const Config& config) {
    found.push_back(config);
    return true;
  });
  RC_ASSERT(found == all);
  std::int64_t removed = 0;
  for (const auto& [id, count] : report.removed_by) removed += count;
  RC_ASSERT(report.considered == 6 * 4 * 3);
  RC_ASSERT(report.legal + removed == report.considered);
}

TEST(Space, VisitMayStopEarly) {
  const Problem problem = problem_of(8, 8, 8);
  const Target target = *known_target("h200");
  int seen = 0;
  enumerate(toy(), {problem, target}, [&](const Config&) { return ++seen < 3; });
  EXPECT_EQ(seen, 3);
}

// A kernel whose launch-time default is illegal (here z = 1 is not, but z has three values) is
// still found through a launch that is legal, and found once.
TEST(Space, KernelsAreTheDistinctCompileTimeParts) {
  const Problem problem = problem_of(8, 8, 8);
  const Target target = *known_target("h200");
  std::set<std::string> texts;
  enumerate(toy(), {problem, target}, [&](const Config& config) {
    texts.insert(kernel_text(config));
    return true;
  });
  const std::vector<Config> kernels = kernels_of(toy(), {problem, target});
  EXPECT_EQ(kernels.size(), texts.size());
  for (const Config& kernel : kernels) EXPECT_EQ(texts.count(kernel_text(kernel)), 1U);
}

TEST(Space, SplitKKernelsAreAmongTheKernels) {
  const Problem problem = problem_of(64, 64, 8192);
  const Target target = *known_target("h200");
  const std::vector<Config> kernels = kernels_of(sm90_ws_family(), {problem, target});
  for (const int split : {0, 1, 2})
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [&](const Config& kernel) {
      return kernel.at("split") == split;
    })) << split;
}

// Where the large problem has too many tiles for a kernel, the long one allows it.
TEST(Space, RoomyProblemsLeaveRoomForEveryKindOfKernel) {
  const Target target = *known_target("h200");
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    for (const char* text :
         {"sm90_ws:w2.m256.n128.s4.cm2", "sm90_ws:w2.pp1.m128.n256.s3.ps1", "sm90_ws:e1.sp1.sk2",
          "sm90_ws:e1.sp2.sk2", "sm90_ws:w2.m256.n256.s3.e1.sp2.sk2"}) {
      const Config config = *parse_config(text, kernel_families());
      bool is_legal = false;
      for (const Problem& problem : roomy_problems({DataType::kF16, DataType::kF16, layout}))
        is_legal = is_legal || broken_rule({problem, target}, config) == nullptr;
      EXPECT_TRUE(is_legal) << text << " " << name(layout);
    }
}

// A rule that looks at a parameter it does not name would be tested before that has its value.
RC_GTEST_PROP(Space, RulesReadOnlyWhatTheyName, ()) {
  const Family* family = *rc::gen::elementOf(
      std::vector<const Family*>(kernel_families().begin(), kernel_families().end()));
  const Problem problem = problem_of(*rc::gen::inRange(1, 5000), *rc::gen::inRange(1, 5000),
                                     *rc::gen::inRange(1, 5000));
  const Target target = *known_target("h200");
  const SpaceContext context{problem, target};
  Config config{family, {}};
  for (const Parameter& parameter : family->parameters)
    config.values.push_back(*rc::gen::elementOf(parameter.values));
  for (const Constraint& constraint : family->constraints) {
    const bool verdict = constraint.holds(context, config);
    Config other = config;
    for (std::size_t i = 0; i < other.values.size(); ++i) {
      const Parameter& parameter = family->parameters[i];
      if (std::find(constraint.reads.begin(), constraint.reads.end(), parameter.name) ==
          constraint.reads.end())
        other.values[i] = *rc::gen::elementOf(parameter.values);
    }
    RC_ASSERT(constraint.holds(context, other) == verdict);
  }
}

}  // namespace
}  // namespace gemmsmith
