// Whose workspace and counters a kernel gets that adds up through memory: launches that may run at
// the same time must never share either.
#include "runtime/scratch_pool.h"

#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/handle.h"
#include "runtime/table_test.h"

namespace gemmsmith::runtime {
namespace {

constexpr const char* kSplit = "sm90_ws:e1.s2.sp2.sk2";
constexpr std::int64_t kNeeded = 2 * 64 * 64 * 4;  // of one tile

// Streams are told apart by their ids, which the fake driver makes of the handles.
CUstream stream_of(std::uintptr_t number) { return reinterpret_cast<CUstream>(number << 12); }

class ScratchTest : public TableTest {
 protected:
  ScratchTest() { options_.k = 256; }
  TableMaker table() { return TableMaker().kernel(Product(options_), kSplit); }
  void load() { TableTest::load(table()); }
  // What the kernel was given; nothing where cuBLASLt served.
  struct Given {
    void* workspace = nullptr;
    unsigned* counters = nullptr;
    bool operator==(const Given&) const = default;
  };
  Given run(Product& product) {
    gpu().last_workspace = nullptr;
    gpu().last_counters = nullptr;
    EXPECT_EQ(product.run_and_compare(handle_), "");
    return {gpu().last_workspace, gpu().last_counters};
  }
  Given run_on(CUstream stream, std::size_t workspace_bytes) {
    Product product(options_);
    product.workspace_bytes = workspace_bytes;
    product.stream = reinterpret_cast<gemmsmithStream_t>(stream);
    return run(product);
  }
};

TEST_F(ScratchTest, TheCallsWorkspaceIsUsedWhereItIsLargeEnough) {
  load();
  Product product(options_);
  std::size_t bytes = 0;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, static_cast<std::size_t>(kNeeded));
  EXPECT_EQ(plan_info(handle_, product.problem).workspace_bytes, bytes);
  product.workspace_bytes = bytes;
  const int allocated = gpu().allocations;
  const Given first = run(product);
  EXPECT_GE(first.workspace, product.workspace_storage.data());
  EXPECT_LT(first.workspace, product.workspace_storage.data() + product.workspace_storage.size());
  EXPECT_EQ(gpu().allocations, allocated) << "the counters came with the table";
  EXPECT_EQ(gpu().last_splits, 2U);
  EXPECT_EQ(gpu().last_cluster, 1U);
  EXPECT_TRUE(gpu().last_cooperative);
  EXPECT_EQ(run(product), first) << "the same counters, as the launch before left them";
  EXPECT_EQ(gpu().dirty_counters, 0);
}

TEST_F(ScratchTest, ACallThatBringsTooLittleGetsAWorkspaceOfOurs) {
  load();
  Product product(options_);
  const Given callers = run(product);
  const int allocated = gpu().allocations;
  product.workspace_bytes = static_cast<std::size_t>(kNeeded) - 1;
  const Given ours = run(product);
  ASSERT_NE(ours.workspace, nullptr);
  EXPECT_NE(ours.workspace, callers.workspace);
  EXPECT_NE(ours.counters, callers.counters);
  EXPECT_EQ(gpu().allocations, allocated + 1);
  product.workspace_bytes = 0;
  EXPECT_EQ(run(product), ours);
  EXPECT_EQ(gpu().allocations, allocated + 1) << "of the stream, from its first call on";
  EXPECT_EQ(gpu().dirty_counters, 0);
}

TEST_F(ScratchTest, StreamsShareNothing) {
  load();
  std::set<void*> workspaces;
  std::set<unsigned*> counters;
  for (std::uintptr_t i = 0; i < ScratchPool::kMostStreams; ++i) {
    const Given given = run_on(stream_of(i), 0);
    EXPECT_TRUE(workspaces.insert(given.workspace).second) << i;
    EXPECT_TRUE(counters.insert(given.counters).second) << i;
  }
  EXPECT_EQ(workspaces.count(nullptr), 0U);
  for (const unsigned* one : counters)
    for (const unsigned* other : counters)
      EXPECT_TRUE(one == other || one + plan::kMostCounters <= other ||
                  other + plan::kMostCounters <= one);
  EXPECT_EQ(run_on(stream_of(ScratchPool::kMostStreams), 0), Given{}) << "left to cuBLASLt";
  EXPECT_NE(run_on(stream_of(ScratchPool::kMostStreams), kNeeded), Given{}) << "its own will do";
  EXPECT_NE(run_on(stream_of(3), 0), Given{});
}

// A graph may be replayed on any stream, beside what the captured stream does then.
TEST_F(ScratchTest, CapturesUseTheCallersWorkspaceOrNone) {
  load();
  Product product(options_);
  product.workspace_bytes = 0;
  const Given eager = run(product);
  EXPECT_NE(eager, Given{});
  gpu().is_capturing = true;
  EXPECT_EQ(run(product), Given{}) << "left to cuBLASLt, although the stream has a workspace";
  product.workspace_bytes = static_cast<std::size_t>(kNeeded);
  const Given captured = run(product);
  EXPECT_NE(captured, Given{});
  EXPECT_NE(captured.counters, eager.counters);
  gpu().is_capturing = false;
  product.workspace_bytes = 0;
  EXPECT_EQ(run(product), eager);
}

TEST_F(ScratchTest, WithoutMemoryCublasLtServes) {
  load();
  gpu().fail_allocation = true;
  EXPECT_EQ(run_on(nullptr, 0), Given{});
  gpu().fail_allocation = false;
  EXPECT_NE(run_on(nullptr, 0), Given{}) << "tried again";
}

TEST_F(ScratchTest, WithoutCountersThePlanIsNotLoaded) {
  gpu().fail_allocation = true;
  load();
  gpu().fail_allocation = false;
  EXPECT_EQ(run_on(nullptr, kNeeded), Given{});
  EXPECT_STREQ(plan_info(handle_, Product(options_).problem).reason,
               "the driver did not load the plan's kernel");
}

TEST_F(ScratchTest, WhatDoesNotFitTheContextIsLeftToCublasLt) {
  load();
  gpu().refuse_cooperative = true;
  EXPECT_EQ(run_on(nullptr, kNeeded), Given{});
  gpu().refuse_cooperative = false;
  EXPECT_NE(run_on(nullptr, kNeeded), Given{});
}

TEST_F(ScratchTest, PreparedPlansGetTheSame) {
  load();
  Product product(options_);
  gemmsmithPlan_t plan = nullptr;
  ASSERT_EQ(gemmsmithPlanCreate(handle_, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
  const float one = 1;
  const float zero = 0;
  for (int i = 0; i < 2; ++i) {
    product.d.fill_nan();
    ASSERT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(product.difference(), "");
  }
  const Given plans = {gpu().last_workspace, gpu().last_counters};
  EXPECT_NE(plans, Given{});
  EXPECT_EQ(run_on(nullptr, 0), plans) << "the stream has one workspace, whoever asks";
  EXPECT_EQ(gpu().dirty_counters, 0);
  EXPECT_EQ(gemmsmithPlanDestroy(plan), GEMMSMITH_STATUS_SUCCESS);
}

// Each on a stream of its own; the pool grows while others read it.
TEST_F(ScratchTest, ManyThreadsAskAtOnce) {
  load();
  std::vector<std::string> failures(ScratchPool::kMostStreams);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      use_device(0);
      Product product(options_);
      product.stream = reinterpret_cast<gemmsmithStream_t>(stream_of(t));
      for (int i = 0; i < 4 && failures[t] == ""; ++i) {
        product.workspace_bytes = i % 2 == 0 ? 0 : static_cast<std::size_t>(kNeeded);
        failures[t] = product.run_and_compare(handle_);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  EXPECT_EQ(fake_lt().matmul_calls, 0);
  EXPECT_EQ(gpu().dirty_counters, 0);
}

// The preloaded library passes on what no plan can serve now.
TEST_F(ScratchTest, RunIfPlannedRefusesWhatHasNoScratch) {
  Handle handle;
  const std::string bytes = table().bytes();
  auto table = Table::copy(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(table) << table.error().what;
  ASSERT_TRUE(handle.load_table(*std::move(table)));
  Product product(options_);
  const float one = 1;
  const float zero = 0;
  const MatmulArguments arguments = {&one,    product.a.data(), product.b.data(), &zero,
                                     nullptr, product.d.data(), nullptr,          0,
                                     nullptr};
  const auto run = [&] {
    const auto served =
        handle.run_if_planned(product.problem, arguments, Handle::Allowed::kKernels);
    EXPECT_TRUE(served) << served.error().what;
    return *served;
  };
  EXPECT_TRUE(run());
  EXPECT_EQ(product.difference(), "");
  gpu().is_capturing = true;
  EXPECT_FALSE(run());
  EXPECT_EQ(fake_lt().matmul_calls, 0);
  gpu().is_capturing = false;
  EXPECT_TRUE(run());
}

class PoolTest : public RuntimeTest {
 protected:
  PoolTest() : driver_(**load_driver()), pool_(driver_) {}
  // A workspace that is never touched.
  static vendor::Workspace workspace(std::uintptr_t number) {
    return {reinterpret_cast<void*>((number + 1) << 20), 1 << 20};
  }
  const Driver& driver_;
  ScratchPool pool_;
};

TEST_F(PoolTest, EveryWorkspaceHasCountersUntilThereAreNoMore) {
  ASSERT_TRUE(pool_.prepare(1 << 20));
  std::vector<unsigned*> counters;
  for (std::uintptr_t i = 0; i < ScratchPool::kMostWorkspaces; ++i) {
    const auto scratch = pool_.acquire(workspace(i), 1 << 20, nullptr);
    ASSERT_TRUE(scratch) << i;
    for (int j = 0; j < plan::kMostCounters; ++j) ASSERT_EQ(scratch->counters[j], 0U);
    counters.push_back(scratch->counters);
  }
  EXPECT_EQ(std::set<unsigned*>(counters.begin(), counters.end()).size(), counters.size());
  EXPECT_FALSE(pool_.acquire(workspace(counters.size()), 1 << 20, nullptr));
  for (std::uintptr_t i = 0; i < counters.size(); ++i)
    EXPECT_EQ(pool_.acquire(workspace(i), 1 << 20, nullptr)->counters, counters[i]);
}

// A larger plan table may be loaded later; what was given out before stays where it is.
TEST_F(PoolTest, AStreamGetsALargerWorkspaceWhereItsFirstIsTooSmall) {
  ASSERT_TRUE(pool_.prepare(1 << 10));
  const auto small = pool_.acquire({}, 1 << 10, nullptr);
  ASSERT_TRUE(small);
  ASSERT_TRUE(pool_.prepare(1 << 20));
  const auto large = pool_.acquire({}, 1 << 12, nullptr);
  ASSERT_TRUE(large);
  EXPECT_NE(large->workspace, small->workspace);
  EXPECT_NE(large->counters, small->counters);
  EXPECT_EQ(pool_.acquire({}, 1 << 20, nullptr)->workspace, large->workspace);
}

}  // namespace
}  // namespace gemmsmith::runtime
