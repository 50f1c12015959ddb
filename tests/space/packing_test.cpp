// Which operands are packed: those that 16-byte loads cannot read must be, those whose rows share
// cache lines may be, and copies are never in want of packing themselves.
#include "space/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "space/family.h"
#include "space/workspace.h"

namespace gemmsmith {
namespace {

// Any sizes, layout, padding, and bases on any power of two from 2 to 256 bytes.
Problem any_problem() {
  Problem problem;
  problem.m = *rc::gen::inRange<std::int64_t>(1, 300);
  problem.n = *rc::gen::inRange<std::int64_t>(1, 300);
  problem.k = *rc::gen::inRange<std::int64_t>(1, 300);
  problem.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
  problem = *make_problem(problem);
  problem.lda += *rc::gen::inRange<std::int64_t>(0, 130);
  problem.ldb += *rc::gen::inRange<std::int64_t>(0, 130);
  problem.alignment.a = 2 << *rc::gen::inRange(0, 8);
  problem.alignment.b = 2 << *rc::gen::inRange(0, 8);
  return problem;
}

// Whether each row of an operand at an address of just that alignment starts on `bytes`.
bool rows_start_on(std::int64_t rows, std::int64_t ld, int alignment, int bytes) {
  for (std::int64_t row = 0; row < rows; ++row)
    if ((alignment + row * ld * 2) % bytes != 0) return false;
  return true;
}

// 128 rows: the address repeats within 128 bytes after 64 rows at most, whatever ld is. A single
// row has no other to be apart from.
int operands_off(const Problem& problem, int bytes) {
  const auto rows = [](const MatrixShape& operand) { return operand.rows == 1 ? 1 : 128; };
  return (rows_start_on(rows(stored_a(problem)), problem.lda, problem.alignment.a, bytes)
              ? 0
              : kPackA) |
         (rows_start_on(rows(stored_b(problem)), problem.ldb, problem.alignment.b, bytes) ? 0
                                                                                          : kPackB);
}

RC_GTEST_PROP(Packing, NeededWhereARowStartsOffSixteenBytes, ()) {
  const Problem problem = any_problem();
  RC_ASSERT(needed_pack(problem) == operands_off(problem, 16));
}

RC_GTEST_PROP(Packing, UsefulWhereARowStartsOffACacheLine, ()) {
  const Problem problem = any_problem();
  RC_ASSERT(useful_pack(problem) == operands_off(problem, 128));
  RC_ASSERT((needed_pack(problem) & ~useful_pack(problem)) == 0);
}

TEST(Packing, EveryResidueOfLeadingDimensionAndBase) {
  Problem problem;
  problem.m = problem.n = problem.k = 64;
  problem = *make_problem(problem);
  for (int pad = 0; pad <= 64; ++pad)
    for (const int alignment : {2, 4, 8, 16, 32, 64, 128, 256}) {
      problem.lda = 64 + pad;
      problem.alignment.a = alignment;
      EXPECT_EQ(needed_pack(problem), pad % 8 == 0 && alignment >= 16 ? 0 : kPackA)
          << pad << ' ' << alignment;
      EXPECT_EQ(useful_pack(problem), pad % 64 == 0 && alignment >= 128 ? 0 : kPackA)
          << pad << ' ' << alignment;
    }
}

RC_GTEST_PROP(Packing, CopiesHaveWholeCacheLinesAndNoMore, ()) {
  const Problem problem = any_problem();
  for (const MatrixShape& operand : {stored_a(problem), stored_b(problem)}) {
    const MatrixShape copy = packed(operand);
    RC_ASSERT(copy.rows == operand.rows);
    RC_ASSERT(copy.cols == operand.cols);
    RC_ASSERT(copy.ld >= operand.cols);
    RC_ASSERT(copy.ld < operand.cols + 64);
    RC_ASSERT(has_whole_cache_lines(copy, 128));
    RC_ASSERT(is_readable(copy, 128));
  }
}

RC_GTEST_PROP(Packing, BytesAreThoseOfTheCopies, ()) {
  const Problem problem = any_problem();
  const std::int64_t a = packed(stored_a(problem)).rows * packed(stored_a(problem)).ld * 2;
  const std::int64_t b = packed(stored_b(problem)).rows * packed(stored_b(problem)).ld * 2;
  RC_ASSERT(packed_bytes(problem, 0) == 0);
  RC_ASSERT(packed_bytes(problem, kPackA) == a);
  RC_ASSERT(packed_bytes(problem, kPackB) == b);
  RC_ASSERT(packed_bytes(problem, kPackA | kPackB) == a + b);
}

// The smallest config of each family, packed in each way: legal just where what must be packed is,
// and nothing that cannot gain.
RC_GTEST_PROP(Packing, ConfigsAreLegalBetweenNeededAndUseful, ()) {
  const Problem problem = any_problem();
  const Target target = *known_target("h200");
  const int must = needed_pack(problem);
  const int may = useful_pack(problem);
  for (const char* text : {"sm90_ws:n8.s2.e1", "sm80_mma:m16.n16.wm1.wn1.s2"})
    for (int pack = 0; pack <= (kPackA | kPackB); ++pack) {
      Config config = *parse_config(text, kernel_families());
      config.set("pack", pack);
      bool refused = false;
      for (const Constraint* rule : broken_rules({problem, target}, config))
        refused = refused || rule->id == "unreadable_operands_are_packed" ||
                  rule->id == "packing_may_pay" || rule->id == "packed_fits_the_workspace";
      const bool fits = (must & ~pack) == 0 && (pack & ~may) == 0;
      RC_ASSERT(refused == !fits);
    }
}

// 32 MiB is 16384 rows of 1024: one row more does not fit, nor do partial sums beside it.
TEST(Packing, CopiesAndPartialSumsShareOneLimit) {
  Problem problem;
  problem.m = 16384;
  problem.n = 64;
  problem.k = 1023;
  problem.ldb = 1024;
  const Target target = *known_target("h200");
  const auto first_broken = [&](std::int64_t m, const char* text) {
    problem.m = m;
    problem.lda = 0;
    const Problem made = *make_problem(problem);
    const Constraint* rule = broken_rule({made, target}, *parse_config(text, kernel_families()));
    return rule == nullptr ? "legal" : std::string(rule->id);
  };
  EXPECT_EQ(first_broken(16384, "sm90_ws:n64.e1.pk1"), "legal");
  EXPECT_EQ(first_broken(16385, "sm90_ws:n64.e1.pk1"), "packed_fits_the_workspace");
  EXPECT_EQ(first_broken(16385, "sm80_mma:pk1"), "packed_fits_the_workspace");
  // 64 tiles in 2 parts of 16 KiB: 2 MiB.
  EXPECT_EQ(first_broken(4096, "sm90_ws:n64.e1.s2.sp2.sk2.pk1"), "legal");
  problem.k = 4095;
  problem.ldb = 4096;
  EXPECT_EQ(first_broken(4096, "sm90_ws:n64.e1.s2.pk1"), "legal") << "32 MiB of copies";
  EXPECT_EQ(first_broken(4096, "sm90_ws:n64.e1.s2.sp2.sk2.pk1"), "split_fits_the_workspace");
}

}  // namespace
}  // namespace gemmsmith
