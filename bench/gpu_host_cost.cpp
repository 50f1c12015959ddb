// gpu_host_cost.cpp -- what enqueueing one product costs the host on a machine with a GPU, four
// ways measured together: a bare cuLaunchKernelEx with everything prepared, gemmsmithPlanRun,
// gemmsmithMatmul, and cublasLtMatmul with its algorithm given.
//
//   gpu_host_cost PLAN_TABLE [SHAPES]     of the table's kernel plans, the SHAPES (8) shortest
//
// Rounds of the four follow each other, so that the clock's moods meet all of them; a round is 200
// calls below the launch queue's depth, then the device is waited for. Printed: the median round's
// nanoseconds a call, and ratios of medians.
#include <gemmsmith/gemmsmith.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "plan/launch_plan.h"
#include "plan/plan_table.h"
#include "vendor/lt_matmul.h"

namespace gemmsmith {
namespace {

constexpr int kCalls = 200;
constexpr int kRounds = 60;
constexpr std::int64_t kWorkspaceBytes = std::int64_t{64} << 20;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "gpu_host_cost: %s\n", result.error().what.c_str());
  std::exit(1);
}

void must(gemmsmithStatus_t status) {
  if (status == GEMMSMITH_STATUS_SUCCESS) return;
  std::fprintf(stderr, "gpu_host_cost: %s\n", gemmsmithGetLastErrorString());
  std::exit(1);
}

Problem problem_of(const plan::PlanEntry& entry) {
  Problem problem;
  problem.m = entry.key.m;
  problem.n = entry.key.n;
  problem.k = entry.key.k;
  problem.type = static_cast<DataType>(entry.key.type);
  problem.accumulator = static_cast<DataType>(entry.key.accumulator);
  problem.layout = static_cast<Layout>(entry.key.layout);
  return must(make_problem(problem));
}

gemmsmithProblem_t column_major(const Problem& p) {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = b_is_k_contiguous(p.layout) ? GEMMSMITH_OP_T : GEMMSMITH_OP_N;
  problem.transb = a_is_k_contiguous(p.layout) ? GEMMSMITH_OP_N : GEMMSMITH_OP_T;
  problem.type = p.type == DataType::kBf16 ? GEMMSMITH_R_16BF : GEMMSMITH_R_16F;
  problem.compute_type =
      p.accumulator == DataType::kF16 ? GEMMSMITH_COMPUTE_16F : GEMMSMITH_COMPUTE_32F;
  problem.m = p.n;
  problem.n = p.m;
  problem.k = p.k;
  problem.lda = p.ldb;
  problem.ldb = p.lda;
  problem.ldc = p.ldc;
  problem.ldd = p.ldd;
  return problem;
}

// A launch of which nothing is left to do but the driver's call.
struct BareLaunch {
  plan::LaunchPlan plan;
  plan::BoundLaunch bound;
  plan::LaunchAttributes attributes = {};
  CUlaunchConfig config = {};
  std::array<void*, 4> parameters = {};

  void prepare(CUstream stream) {
    config = plan::launch_config(plan, stream, attributes);
    if (plan.has_tensor_maps)
      parameters = {&bound.map_a, &bound.map_b, &bound.map_d, &bound.args};
    else
      parameters = {&bound.args};
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double round_ns(const CudaContext& context, const std::function<void()>& call) {
  must(context.synchronize().map([] { return 0; }));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / kCalls;
}

void compare(const CudaContext& context, const plan::PlanTable& table, const plan::PlanEntry& entry,
             gemmsmithHandle_t handle, const std::shared_ptr<const vendor::LtHandle>& lt) {
  const Driver& driver = context.driver();
  const Problem problem = problem_of(entry);
  const gemmsmithProblem_t theirs = column_major(problem);
  const DeviceBuffer a = must(
      DeviceBuffer::allocate(driver, static_cast<std::size_t>(problem.m * problem.k) * 2 + 256));
  const DeviceBuffer b = must(
      DeviceBuffer::allocate(driver, static_cast<std::size_t>(problem.n * problem.k) * 2 + 256));
  const DeviceBuffer d = must(
      DeviceBuffer::allocate(driver, static_cast<std::size_t>(problem.m * problem.n) * 2 + 256));
  const DeviceBuffer workspace =
      must(DeviceBuffer::allocate(driver, static_cast<std::size_t>(kWorkspaceBytes)));
  const Stream stream = must(Stream::create(driver));

  const plan::PlanKernel kernel = table.kernel(entry.kernel);
  const Module module = must(Module::load(driver, kernel.cubin, "the plan's kernel"));
  const CUfunction function = must(module.function(kernel.function.data()));
  BareLaunch bare;
  bare.plan = must(plan::make_launch_plan(entry.recipe, problem));
  must(plan::prepare(driver, bare.plan, function).map([] { return 0; }));
  bare.bound =
      must(plan::bind(driver, bare.plan, {a.pointer(), b.pointer(), d.pointer(), d.pointer()}));
  bare.prepare(stream.get());

  gemmsmithPlan_t plan = nullptr;
  must(gemmsmithPlanCreate(handle, &theirs, &plan));
  const vendor::LtMatmul matmul = must(vendor::LtMatmul::create(lt, problem, kWorkspaceBytes));
  const vendor::LtAlgo algo = must(matmul.heuristics(1)).front();

  const float one = 1;
  const float zero = 0;
  const std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"bare",
       [&] {
         if (driver.LaunchKernelEx(&bare.config, function, bare.parameters.data(), nullptr) !=
             CUDA_SUCCESS)
           std::exit(1);
       }},
      {"plan",
       [&] {
         must(gemmsmithPlanRun(plan, &one, b.pointer(), a.pointer(), &zero, nullptr, d.pointer(),
                               nullptr, 0, stream.get()));
       }},
      {"matmul",
       [&] {
         must(gemmsmithMatmul(handle, &theirs, &one, b.pointer(), a.pointer(), &zero, nullptr,
                              d.pointer(), nullptr, 0, stream.get()));
       }},
      {"cublaslt",
       [&] {
         must(matmul
                  .run(algo, {a.pointer(), b.pointer(), d.pointer(), d.pointer()},
                       {workspace.pointer(), kWorkspaceBytes}, stream.get())
                  .map([] { return 0; }));
       }},
  };
  std::map<std::string, std::vector<double>> rounds;
  for (const auto& [name, call] : ways) round_ns(context, call);  // warm
  for (int round = 0; round < kRounds; ++round)
    for (const auto& [name, call] : ways) rounds[name].push_back(round_ns(context, call));
  must(context.synchronize().map([] { return 0; }));
  must(gemmsmithPlanDestroy(plan));
  const double bare_ns = median(rounds["bare"]);
  const double plan_ns = median(rounds["plan"]);
  const double matmul_ns = median(rounds["matmul"]);
  const double lt_ns = median(rounds["cublaslt"]);
  std::printf("%s,%s,%.0f,%.0f,%.0f,%.0f,%.3f,%.3f,%.3f\n", shape_name(problem).c_str(),
              std::string(table.text(entry)).c_str(), bare_ns, plan_ns, matmul_ns, lt_ns,
              plan_ns / bare_ns, matmul_ns / bare_ns, matmul_ns / lt_ns);
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: gpu_host_cost PLAN_TABLE [SHAPES]\n");
    return 2;
  }
  const plan::PlanTable table = must(plan::PlanTable::open(argv[1]));
  const std::size_t count = argc == 3 ? static_cast<std::size_t>(std::atoi(argv[2])) : 8;
  const CudaContext context = must(CudaContext::open(0));
  gemmsmithHandle_t handle = nullptr;
  must(gemmsmithCreate(&handle));
  must(gemmsmithLoadPlanTable(handle, argv[1]));
  const auto library = must(vendor::BlasLibrary::open());
  const auto lt = must(vendor::LtHandle::create(library));
  std::vector<const plan::PlanEntry*> entries;
  for (const plan::PlanEntry& entry : table.entries())
    if (entry.source == plan::PlanSource::kKernel && entry.key.type == 0 && entry.key.layout == 0 &&
        entry.key.alignment == 0 && entry.key.epilogue == 0 && entry.key.follows == 0 &&
        !entry.recipe.uses_workspace() && entry.recipe.pack == 0)
      entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const auto* left, const auto* right) {
    return left->expected_us < right->expected_us;
  });
  entries.resize(std::min(entries.size(), count));
  std::printf(
      "shape,config,bare_ns,plan_ns,matmul_ns,cublaslt_ns,plan/bare,matmul/bare,"
      "matmul/cublaslt\n");
  for (const plan::PlanEntry* entry : entries) compare(context, table, *entry, handle, lt);
  must(gemmsmithDestroy(handle));
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) { return gemmsmith::run(argc, argv); }
