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

#include "fake_serving.h"
#include "runtime/fake_gpu.h"
#include "watch/layout.h"

namespace gemmsmith {
namespace {

constexpr int kCalls = 20'000;
constexpr int kRounds = 100;  // of each
constexpr int kShapes = static_cast<int>(watch::kMostShapes) + 8;

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
  const std::string bytes = table_of(kShapes);
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
