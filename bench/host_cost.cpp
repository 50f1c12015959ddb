// host_cost.cpp -- what a gemmsmithMatmul call costs the host, apart from the driver's own time:
// the fake driver of the runtime's tests counts launches and returns at once.
//
//   bench_host_cost     ns a call: seen before, with new pointers, out of a table of 4096 plans;
//                       and of gemmsmithPlanRun
//
// The launch itself, and cublasLtMatmul's bookkeeping, are not visible here: docs/measuring.md has
// both from an H200's host.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <gemmsmith/gemmsmith.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fake_serving.h"
#include "runtime/fake_gpu.h"

namespace gemmsmith {
namespace {

constexpr int kShapes = 4096;

gemmsmithHandle_t prepared_handle() {
  static gemmsmithHandle_t handle = [] {
    setenv("GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_GPU, 1);
    fake_gpu().skip_work = true;
    gemmsmithHandle_t created = nullptr;
    require(gemmsmithCreate(&created) == GEMMSMITH_STATUS_SUCCESS, "creating");
    const std::string bytes = table_of(kShapes);
    require(gemmsmithLoadPlanTableFromMemory(created, bytes.data(), bytes.size()) ==
                GEMMSMITH_STATUS_SUCCESS,
            "loading");
    return created;
  }();
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  return handle;
}

void* address(std::size_t value) { return reinterpret_cast<void*>(value); }

// Calls of `distinct` problems and pointers in turn. More than a thread remembers: each is bound
// anew.
void multiply(benchmark::State& state) {
  gemmsmithHandle_t handle = prepared_handle();
  const auto distinct = static_cast<std::size_t>(state.range(0));
  std::vector<gemmsmithProblem_t> problems;
  for (std::size_t i = 0; i < distinct; ++i) problems.push_back(problem_of(static_cast<int>(i)));
  const float one = 1;
  const float zero = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    const gemmsmithStatus_t status =
        gemmsmithMatmul(handle, &problems[i], &one, address(0x1000000), address(0x2000000), &zero,
                        nullptr, address(0x3000000), nullptr, 0, nullptr);
    require(status == GEMMSMITH_STATUS_SUCCESS, "multiplying");
    if (++i == distinct) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(multiply)->ArgName("distinct_calls")->Arg(1)->Arg(64)->Arg(kShapes);
BENCHMARK(multiply)->ArgName("distinct_calls")->Arg(64)->Threads(2)->UseRealTime();

void run_plan(benchmark::State& state) {
  gemmsmithHandle_t handle = prepared_handle();
  const auto distinct = static_cast<std::size_t>(state.range(0));
  std::vector<gemmsmithPlan_t> plans(distinct);
  for (std::size_t i = 0; i < distinct; ++i) {
    const gemmsmithProblem_t problem = problem_of(static_cast<int>(i));
    require(gemmsmithPlanCreate(handle, &problem, &plans[i]) == GEMMSMITH_STATUS_SUCCESS,
            "making a plan");
  }
  const float one = 1;
  const float zero = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    const gemmsmithStatus_t status =
        gemmsmithPlanRun(plans[i], &one, address(0x1000000), address(0x2000000), &zero, nullptr,
                         address(0x3000000), nullptr, 0, nullptr);
    require(status == GEMMSMITH_STATUS_SUCCESS, "running a plan");
    if (++i == distinct) i = 0;
  }
  for (const gemmsmithPlan_t plan : plans) gemmsmithPlanDestroy(plan);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(run_plan)->ArgName("distinct_calls")->Arg(1)->Arg(64);

void find_plan(benchmark::State& state) {
  const auto plans = plan::PlanTable::from_bytes(table_of(kShapes), "bench");
  std::vector<plan::PlanKey> keys;
  for (int i = 0; i < kShapes; ++i) keys.push_back(plan::key_of(row_major((i * 1021) % kShapes)));
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plans->find(keys[i]));
    if (++i == keys.size()) i = 0;
  }
}
BENCHMARK(find_plan);

}  // namespace
}  // namespace gemmsmith

BENCHMARK_MAIN();
