// monitor_cost.cpp -- what GEMMSMITH_MONITOR adds to a warm gemmsmithMatmul on the host: calls of a
// watched shape and of one that found no place in the shared file, which takes the very path of a
// process without the variable. The driver of the runtime's tests returns at once, so that the
// ratio is that of our own work; a real launch comes on top of both.
//
//   monitor_cost [PATH]     of the shared file [/dev/shm/gemmsmith_monitor_cost]
//
// Rounds of the two follow each other in the order ABBA, so that the clock's moods meet both.
// Printed: the median round's nanoseconds a call, their difference and ratio; then the same with
// two threads that share the shape.
#include <cuda.h>
#include <gemmsmith/gemmsmith.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plan/plan_table_writer.h"
#include "runtime/fake_gpu.h"
#include "watch/layout.h"

namespace gemmsmith {
namespace {

constexpr int kCalls = 20'000;
constexpr int kRounds = 100;  // of each
constexpr int kShapes = static_cast<int>(watch::kMostShapes) + 8;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "monitor_cost: %s: %s\n", what, gemmsmithGetLastErrorString());
  std::exit(1);
}

// As the C API would translate problem_of(index).
Problem row_major(int index) {
  Problem problem;
  problem.m = 64;
  problem.n = 64 + 8 * index;
  problem.k = 256;
  return *make_problem(problem);
}

gemmsmithProblem_t problem_of(int index) {
  const Problem our = row_major(index);
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = GEMMSMITH_OP_T;
  problem.transb = GEMMSMITH_OP_N;
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = our.n;
  problem.n = our.m;
  problem.k = our.k;
  problem.lda = our.ldb;
  problem.ldb = our.lda;
  problem.ldc = our.ldc;
  problem.ldd = our.ldd;
  return problem;
}

std::string table() {
  plan::PlanTableWriter writer({"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"});
  const auto config = parse_config("sm90_ws:s2", kernel_families());
  for (int i = 0; i < kShapes; ++i)
    require(writer
                .add_kernel_plan(row_major(i), *config, *known_target("h200"),
                                 {std::string("FAKE gemm tn maps f16\0", 22), "gemm", 128, 0}, {})
                .has_value(),
            "adding a plan");
  return *writer.bytes();
}

void use_context() {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}

void multiply(gemmsmithHandle_t handle, const gemmsmithProblem_t& problem, int calls) {
  const float one = 1;
  const float zero = 0;
  const auto address = [](std::size_t value) { return reinterpret_cast<void*>(value); };
  for (int i = 0; i < calls; ++i)
    require(gemmsmithMatmul(handle, &problem, &one, address(0x1000000), address(0x2000000), &zero,
                            nullptr, address(0x3000000), nullptr, 0,
                            nullptr) == GEMMSMITH_STATUS_SUCCESS,
            "multiplying");
}

double ns_a_call(gemmsmithHandle_t handle, const gemmsmithProblem_t& problem, int threads) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t)
    others.emplace_back([&] {
      use_context();
      multiply(handle, problem, kCalls);
    });
  multiply(handle, problem, kCalls);
  for (std::thread& other : others) other.join();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
             .count() /
         kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

int run(const char* path) {
  setenv("GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_GPU, 1);
  setenv("GEMMSMITH_MONITOR", path, 1);
  fake_gpu().skip_work = true;
  use_context();
  gemmsmithHandle_t handle = nullptr;
  require(gemmsmithCreate(&handle) == GEMMSMITH_STATUS_SUCCESS, "creating");
  const std::string bytes = table();
  require(gemmsmithLoadPlanTableFromMemory(handle, bytes.data(), bytes.size()) ==
              GEMMSMITH_STATUS_SUCCESS,
          "loading");
  for (int i = 0; i < kShapes; ++i) multiply(handle, problem_of(i), 1);  // takes the places
  const int recorded = fake_gpu().events_recorded;
  const gemmsmithProblem_t watched = problem_of(0);
  const gemmsmithProblem_t unwatched = problem_of(kShapes - 1);
  for (const int threads : {1, 2}) {
    std::vector<double> with, without;
    for (int round = 0; round < kRounds; ++round) {
      const bool first = round % 2 == 0;
      (first ? with : without).push_back(ns_a_call(handle, first ? watched : unwatched, threads));
      (first ? without : with).push_back(ns_a_call(handle, first ? unwatched : watched, threads));
    }
    std::printf("threads=%d unwatched_ns=%.1f watched_ns=%.1f difference_ns=%.1f ratio=%.4f\n",
                threads, median(without), median(with), median(with) - median(without),
                median(with) / median(without));
  }
  require(fake_gpu().events_recorded > recorded, "nothing was timed: the file was refused");
  gemmsmithDestroy(handle);
  unlink(path);
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) {
  return gemmsmith::run(argc > 1 ? argv[1] : "/dev/shm/gemmsmith_monitor_cost");
}
