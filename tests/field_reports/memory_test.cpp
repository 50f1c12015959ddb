// Field reports on memory that grows. (Sanitizers keep freed memory for a while, so this file is
// left out of their builds.)
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "runtime/fixture.h"

namespace gemmsmith::runtime {
namespace {

class MemoryFieldReports : public RuntimeTest {};

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6));
  return 0;
}

// M12: shapes that never repeat do not make the process grow.
TEST_F(MemoryFieldReports, M12_DistinctShapesForEverTakeNoMoreMemory) {
  constexpr int kWarmUp = 20'000;
  constexpr int kCalls = 200'000;
  ProductOptions options;
  options.m = options.n = options.k = 2;
  options.pad_a = options.pad_b = options.pad_c = options.pad_d = kWarmUp + kCalls;
  Product product(options);
  std::int64_t ld = 2;  // each makes another problem
  const auto call_with_new_shapes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      product.problem.lda = product.problem.ldb = product.problem.ldc = product.problem.ldd = ++ld;
      ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    }
  };
  call_with_new_shapes(kWarmUp);
  const std::size_t before = resident_kib();
  const int objects = fake_lt().live_objects;
  const int asked = fake_lt().heuristic_calls;
  call_with_new_shapes(kCalls);
  const std::size_t after = resident_kib();
  EXPECT_GE(fake_lt().heuristic_calls - asked, kCalls) << "the shapes were not distinct";
  ASSERT_GT(before, 0U);
  EXPECT_LE(after, before + 2048) << "KiB";
  // As many as before, but for where in its tables each call falls.
  EXPECT_LE(fake_lt().live_objects, 2 * objects);
}

}  // namespace
}  // namespace gemmsmith::runtime
