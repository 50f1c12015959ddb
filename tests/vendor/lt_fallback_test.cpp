#include "vendor/lt_fallback.h"

#include <atomic>
#include <thread>

#include "allocation_count.h"
#include "fake_fixture.h"

namespace gemmsmith::vendor {
namespace {

const Workspace kWorkspace = {nullptr, 1 << 20};

class LtFallbackFake : public FakeLibraryTest {};

TEST_F(LtFallbackFake, ComputesTheProductOfEveryLayout) {
  LtFallback fallback(handle());
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    Problem problem = problem_of(5, 6, 7, layout);
    problem.alpha = 2;
    problem.beta = -1;
    HostProduct product(problem);
    const auto ran =
        fallback.run(problem, product.operands(), Scalars::of(problem), kWorkspace, nullptr);
    ASSERT_TRUE(ran) << ran.error().what;
    EXPECT_EQ(product.difference(), "");
  }
}

TEST_F(LtFallbackFake, WarmCallAsksNothingAndAllocatesNothing) {
  LtFallback fallback(handle());
  const Problem problem = problem_of(8, 8, 8);
  HostProduct product(problem);
  const Operands operands = product.operands();
  ASSERT_TRUE(fallback.run(problem, operands, Scalars::host(1, 0), kWorkspace, nullptr));
  const int asked = fake().heuristic_calls;
  const int live = fake().live_objects;
  const std::int64_t before = allocation_count();
  bool ok = true;
  for (int i = 0; i < 100; ++i)
    ok =
        ok && fallback.run(problem, operands, Scalars::host(1, 0), kWorkspace, nullptr).has_value();
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_TRUE(ok);
  EXPECT_EQ(fake().heuristic_calls, asked);
  EXPECT_EQ(fake().live_objects, live);
}

TEST_F(LtFallbackFake, AlphaIsNoPartOfTheProblemButReadingCIs) {
  LtFallback fallback(handle());
  Problem problem = problem_of(8, 8, 8);
  for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, std::pair{3.0f, 0.0f},
                                    std::pair{1.0f, 2.0f}, std::pair{1.0f, 3.0f}}) {
    problem.alpha = alpha;
    problem.beta = beta;
    HostProduct product(problem);
    ASSERT_TRUE(
        fallback.run(problem, product.operands(), Scalars::of(problem), kWorkspace, nullptr));
    EXPECT_EQ(product.difference(), "");
  }
  EXPECT_EQ(fallback.size(), 2u);
}

TEST_F(LtFallbackFake, EverythingTheChoiceDependsOnIsAProblemOfItsOwn) {
  LtFallback fallback(handle());
  const Problem problem = problem_of(8, 8, 8);
  std::vector<Problem> variants(7, problem);
  variants[1].m = 4;
  variants[2].lda = 16;
  variants[3].ldd = 24;
  variants[4].alignment.d = 16;
  variants[5].type = DataType::kBf16;
  variants[6].layout = Layout::kNT;
  for (const Problem& variant : variants) {
    HostProduct product(variant);
    ASSERT_TRUE(
        fallback.run(variant, product.operands(), Scalars::host(1, 0), kWorkspace, nullptr));
    EXPECT_EQ(product.difference(), "");
  }
  HostProduct product(problem);
  ASSERT_TRUE(
      fallback.run(problem, product.operands(), Scalars::host(1, 0), {nullptr, 4096}, nullptr));
  EXPECT_EQ(fallback.size(), variants.size() + 1);
}

TEST_F(LtFallbackFake, NewShapesForEverStayBounded) {
  LtFallback fallback(handle(), 16);
  for (int m = 1; m <= 200; ++m) {
    const Problem problem = problem_of(m, 8, 8);
    HostProduct product(problem);
    ASSERT_TRUE(
        fallback.run(problem, product.operands(), Scalars::host(1, 0), kWorkspace, nullptr));
    EXPECT_EQ(product.difference(), "");
    ASSERT_LE(fallback.size(), 16u);
    // Two tables at most, 6 objects an entry, and the handle.
    ASSERT_LE(fake().live_objects, 2 * 16 * 6 + 1);
  }
}

TEST_F(LtFallbackFake, ThreadsShareItWhileTablesAreReplaced) {
  LtFallback fallback(handle(), 8);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        const Problem problem = problem_of(1 + (i * 7 + t) % 24, 8, 8);
        HostProduct product(problem);
        const auto ran =
            fallback.run(problem, product.operands(), Scalars::host(1, 0), kWorkspace, nullptr);
        if (!ran || !product.difference().empty()) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(fallback.size(), 8u);
}

TEST_F(LtFallbackFake, ProblemWithoutAnAlgorithmIsRefusedAndNotAskedAgain) {
  LtFallback fallback(handle());
  fake().heuristic_finds_none = true;
  const Problem problem = problem_of(8, 8, 8);
  HostProduct product(problem);
  const auto ran =
      fallback.run(problem, product.operands(), Scalars::host(1, 0), kWorkspace, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kUnsupported);
  const int asked = fake().heuristic_calls;
  const auto again =
      fallback.run(problem, product.operands(), Scalars::host(1, 0), kWorkspace, nullptr);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().what, ran.error().what);
  EXPECT_EQ(fake().heuristic_calls, asked);
}

class CountingSource : public WorkspaceSource {
 public:
  explicit CountingSource(std::int64_t available) : available_(available) {}
  std::int64_t limit() const override { return 1 << 20; }
  Workspace get(std::int64_t bytes) override {
    asked.push_back(bytes);
    return available_ >= bytes ? Workspace{memory_.data(), bytes} : Workspace{};
  }
  std::vector<std::int64_t> asked;

 private:
  std::int64_t available_;
  alignas(256) std::array<char, 4096> memory_ = {};
};

TEST_F(LtFallbackFake, WorkspaceIsAskedForWhereTheAlgorithmNeedsSome) {
  LtFallback fallback(handle());
  CountingSource source(4096);
  const auto run = [&](const Problem& problem) {
    HostProduct product(problem);
    return fallback.run(problem, Extras{}, product.operands(), Scalars::host(1, 0), source,
                        nullptr);
  };
  ASSERT_TRUE(run(problem_of(8, 8, 8)));
  EXPECT_TRUE(source.asked.empty());
  EXPECT_EQ(fake().workspace_limit, 1u << 20);
  fake().heuristic_workspace = 4096;
  fake().matmul_calls = 0;  // the fake remembers the first call's workspace
  ASSERT_TRUE(run(problem_of(8, 8, 16)));
  EXPECT_EQ(source.asked, std::vector<std::int64_t>{4096});
  EXPECT_EQ(fake().workspace_bytes, 4096u);
}

TEST_F(LtFallbackFake, WithoutItsWorkspaceNothingIsEnqueued) {
  LtFallback fallback(handle());
  CountingSource source(0);
  fake().heuristic_workspace = 4096;
  const Problem problem = problem_of(8, 8, 8);
  HostProduct product(problem);
  const auto ran =
      fallback.run(problem, Extras{}, product.operands(), Scalars::host(1, 0), source, nullptr);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(fake().matmul_calls, 0);
}

TEST_F(LtFallbackFake, ExactReductionsAreAskedOfTheHeuristicAndAProblemOfTheirOwn) {
  LtFallback fallback(handle());
  const Problem problem = problem_of(8, 8, 8);
  HostProduct product(problem);
  Extras exact;
  exact.exact_reductions = true;
  for (const Extras& extras : {Extras{}, exact})
    ASSERT_TRUE(fallback.run(problem, extras, product.operands(), Scalars::host(1, 0), kWorkspace,
                             nullptr));
  EXPECT_EQ(fallback.size(), 2u);
  EXPECT_EQ(fake().reduction_mask,
            static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
}

}  // namespace
}  // namespace gemmsmith::vendor
