#include "measure/operands.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace gemmsmith {
namespace {

constexpr std::int64_t kL2 = 60LL << 20;

Problem any_problem() {
  Problem p;
  p.m = *rc::gen::inRange(1, 300);
  p.n = *rc::gen::inRange(1, 300);
  p.k = *rc::gen::inRange(1, 300);
  p.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
  p.lda = packed_lda(p) + *rc::gen::inRange(0, 9);
  p.ldb = packed_ldb(p) + *rc::gen::inRange(0, 9);
  p.ldd = packed_ldd(p) + *rc::gen::inRange(0, 9);
  p.beta = static_cast<float>(*rc::gen::inRange(0, 2));
  p.alignment.a = *rc::gen::element(2, 4, 8, 16, 256);
  p.alignment.d = *rc::gen::element(2, 16, 256);
  return *make_problem(p);
}

RC_GTEST_PROP(TimingLayout, KeepsOperandsApart, ()) {
  const Problem p = any_problem();
  const OperandLayout layout = timing_layout(p, kL2);
  std::vector<Region> regions = {layout.a, layout.b};
  if (layout.has_c) regions.push_back(layout.c);
  regions.push_back(layout.d);
  std::int64_t end = 0;
  for (const Region& region : regions) {
    RC_ASSERT(region.band_start >= end);
    RC_ASSERT(region.start > region.band_start);
    RC_ASSERT(region.band_end > region.end);
    end = region.band_end;
  }
  RC_ASSERT(layout.stride >= end);
  RC_ASSERT(layout.stride % 256 == 0);
  RC_ASSERT(layout.has_c == (p.beta != 0));
}

RC_GTEST_PROP(TimingLayout, GivesExactlyThePromisedAlignment, ()) {
  const Problem p = any_problem();
  const OperandLayout layout = timing_layout(p, kL2);
  RC_ASSERT(layout.a.start % p.alignment.a == 0);
  RC_ASSERT(layout.d.start % p.alignment.d == 0);
  // No more than that: a kernel that relies on more must fail here, not at a user's.
  if (p.alignment.a < 256) RC_ASSERT(layout.a.start % (2 * p.alignment.a) != 0);
  if (p.alignment.d < 256) RC_ASSERT(layout.d.start % (2 * p.alignment.d) != 0);
}

TEST(TimingLayout, CoversTwiceTheL2OrAsManySetsAsAllowed) {
  Problem p;
  p.m = 64;
  p.n = 4096;
  p.k = 64;
  const Problem middle = *make_problem(p);
  const OperandLayout layout = timing_layout(middle, kL2);
  EXPECT_GT(middle.min_bytes() * static_cast<double>(layout.sets), 2.0 * kL2);
  EXPECT_EQ(cache_state(middle, kL2, layout.sets), CacheState::kCold);
  EXPECT_EQ(cache_state(middle, kL2, layout.sets / 2), CacheState::kHot);

  p.n = 64;
  const Problem tiny = *make_problem(p);
  const OperandLayout small = timing_layout(tiny, kL2);
  EXPECT_EQ(small.sets, kMaxOperandSets);
  EXPECT_GT(small.sets_to_cover, kMaxOperandSets);
  EXPECT_EQ(cache_state(tiny, kL2, small.sets), CacheState::kHot);

  p.m = p.n = p.k = 16384;
  const Problem large = *make_problem(p);
  EXPECT_EQ(timing_layout(large, kL2).sets, 1);
  EXPECT_EQ(cache_state(large, kL2, 1), CacheState::kCold);
}

TEST(TimingLayout, PlacesTheOperandsOfASet) {
  Problem p;
  p.m = 8;
  p.n = 8;
  p.k = 8;
  const OperandLayout layout = timing_layout(*make_problem(p), kL2);
  std::array<char, 1> memory;
  const plan::Operands second = layout.at(memory.data(), 1);
  const plan::Operands first = layout.at(memory.data(), 0);
  EXPECT_EQ(static_cast<const char*>(second.a) - static_cast<const char*>(first.a), layout.stride);
  EXPECT_EQ(first.c, nullptr);
}

TEST(StoredMatrices, FollowTheLayout) {
  Problem p;
  p.m = 3;
  p.n = 5;
  p.k = 7;
  p.layout = Layout::kNT;  // A m-contiguous, B n-contiguous
  const Problem problem = *make_problem(p);
  EXPECT_EQ(stored_a(problem).rows, 7);
  EXPECT_EQ(stored_a(problem).cols, 3);
  EXPECT_EQ(stored_b(problem).rows, 7);
  EXPECT_EQ(stored_b(problem).cols, 5);
  EXPECT_EQ(stored_d(problem).extent(), 15);
  EXPECT_EQ((MatrixShape{2, 3, 10}.extent()), 13);
}

}  // namespace
}  // namespace gemmsmith
