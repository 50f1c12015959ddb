// What the time model knows of packing: the copy costs a launch and its bytes, and rows that share
// cache lines cost the loads.
#include "policy/kernel_model.h"

#include <gtest/gtest.h>

#include "space/packing.h"

namespace gemmsmith::policy {
namespace {

Problem cube(std::int64_t size) {
  Problem problem;
  problem.m = problem.n = problem.k = size;
  return *make_problem(problem);
}

double us(const Problem& problem, const char* config, int pack) {
  Config packed = *parse_config(config, kernel_families());
  packed.set("pack", pack);
  return model_us(problem, kernel_shape(packed, problem.accumulator), *known_target("h200"));
}

// Bounds from the device, not from the model's constants: a launch is 1 to 3 us, a copy reads and
// writes at 2 to 7 TB/s.
TEST(KernelModel, PackingCostsALaunchAndTheCopy) {
  for (const char* config : {"sm90_ws:w2.m128.n256", "sm80_mma:m128.n128.wm2.wn2.s3"})
    for (const std::int64_t size : {1024, 2048, 4096}) {
      Problem odd = cube(size);
      odd.lda = odd.ldb = size + 1;
      const double moved = 2 * static_cast<double>(packed_bytes(odd, kPackA | kPackB));
      const double extra = us(odd, config, kPackA | kPackB) - us(cube(size), config, 0);
      EXPECT_GE(extra, 1 + moved / 7e12 * 1e6) << config << ' ' << size;
      EXPECT_LE(extra, 3 + moved / 2e12 * 1e6) << config << ' ' << size;
    }
}

TEST(KernelModel, PackingOneOperandCostsLess) {
  const char* config = "sm90_ws:w2.m128.n256";
  Problem odd = cube(4096);
  odd.lda = 4097;
  const double one = us(odd, config, kPackA);
  EXPECT_GT(one, us(cube(4096), config, 0));
  odd.ldb = 4097;
  EXPECT_GT(us(odd, config, kPackA | kPackB), one);
}

// Whole cache lines are what optional packing is for.
TEST(KernelModel, RowsThatShareCacheLinesAreSlowerToRead) {
  Problem shared = cube(4096);
  shared.lda = shared.ldb = 4096 + 8;
  const char* config = "sm90_ws:n64.k128";
  EXPECT_GT(us(shared, config, 0), us(cube(4096), config, 0));
}

}  // namespace
}  // namespace gemmsmith::policy
