// problem_test.cpp -- a Problem is made only from sizes, types and leading dimensions that go
// together, and the refusal names the argument, its value and the rule.
#include "problem/problem.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace gemmsmith {
namespace {

Problem sized(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

TEST(Problem, FillsInPackedLeadingDimensions) {
  struct Case {
    Layout layout;
    std::int64_t lda, ldb;
  };
  for (const Case& c : {Case{Layout::kTN, 30, 30}, Case{Layout::kNN, 10, 30},
                        Case{Layout::kNT, 10, 20}, Case{Layout::kTT, 30, 20}}) {
    Problem problem = sized(10, 20, 30);
    problem.layout = c.layout;
    const auto made = make_problem(problem);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->lda, c.lda) << name(c.layout);
    EXPECT_EQ(made->ldb, c.ldb) << name(c.layout);
    EXPECT_EQ(made->ldc, 20);
    EXPECT_EQ(made->ldd, 20);
  }
}

TEST(Problem, LeadingDimensionOfCFollowsD) {
  Problem problem = sized(10, 20, 30);
  problem.ldd = 24;
  EXPECT_EQ(make_problem(problem)->ldc, 24);
}

struct RefusedCase {
  const char* label;
  void (*change)(Problem&);
  ErrorCode code;
  const char* message;
};

class RefusedProblem : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedProblem, SaysWhich) {
  Problem problem = sized(10, 20, 30);
  GetParam().change(problem);
  const auto made = make_problem(problem);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, GetParam().code);
  EXPECT_EQ(made.error().what, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RefusedProblem,
    ::testing::Values(
        RefusedCase{"negative_m", [](Problem& p) { p.m = -1; }, ErrorCode::kBadInput,
                    "m = -1: a size must not be negative"},
        RefusedCase{"large_n", [](Problem& p) { p.n = 2147483648; }, ErrorCode::kBadInput,
                    "n = 2147483648: a size must be at most 2147483647"},
        RefusedCase{"negative_k", [](Problem& p) { p.k = -30; }, ErrorCode::kBadInput,
                    "k = -30: a size must not be negative"},
        RefusedCase{"negative_batch", [](Problem& p) { p.batch = -2; }, ErrorCode::kBadInput,
                    "batch = -2: a size must not be negative"},
        RefusedCase{"negative_stride",
                    [](Problem& p) {
                      p.batch = 2;
                      p.stride_b = -2;
                    },
                    ErrorCode::kBadInput, "stride_b = -2: a stride must not be negative"},
        RefusedCase{"far_matrices",
                    [](Problem& p) {
                      p.batch = 2;
                      p.stride_a = std::int64_t{1} << 39;
                    },
                    ErrorCode::kBadInput,
                    "stride_a = 549755813888: a stride must be at most 549755813887"},
        RefusedCase{"overflowing_batch",
                    [](Problem& p) {
                      p.batch = 2147483647;
                      p.stride_c = std::int64_t{1} << 33;
                    },
                    ErrorCode::kBadInput,
                    "stride_c = 8589934592: 2147483647 matrices would span more than 2^63 bytes"},
        RefusedCase{"one_result_for_all",
                    [](Problem& p) {
                      p.batch = 3;
                      p.stride_d = 0;
                    },
                    ErrorCode::kBadInput,
                    "stride_d = 0: the 3 results of 10 x 20 with ldd 20 would overlap"},
        RefusedCase{"results_that_overlap_by_one",
                    [](Problem& p) {
                      p.batch = 3;
                      p.stride_d = 199;
                    },
                    ErrorCode::kBadInput,
                    "stride_d = 199: the 3 results of 10 x 20 with ldd 20 would overlap"},
        RefusedCase{"interleaved_results_that_overlap",
                    [](Problem& p) {
                      p.batch = 3;
                      p.ldd = 59;
                      p.stride_d = 20;
                    },
                    ErrorCode::kBadInput,
                    "stride_d = 20: the 3 results of 10 x 20 with ldd 59 would overlap"},
        RefusedCase{"small_lda", [](Problem& p) { p.lda = 29; }, ErrorCode::kBadInput,
                    "lda = 29: this leading dimension must be at least 30"},
        RefusedCase{"far_rows", [](Problem& p) { p.lda = std::int64_t{1} << 39; },
                    ErrorCode::kBadInput,
                    "lda = 549755813888: this leading dimension must be at most 549755813887"},
        RefusedCase{"overflowing_ldd",
                    [](Problem& p) {
                      p.m = 2147483647;
                      p.ldd = std::int64_t{1} << 32;
                    },
                    ErrorCode::kBadInput,
                    "ldd = 4294967296: with 2147483647 rows this leading dimension must be at most "
                    "2147483649: a matrix has at most 2^63 bytes"},
        RefusedCase{"small_ldb", [](Problem& p) { p.ldb = -5; }, ErrorCode::kBadInput,
                    "ldb = -5: this leading dimension must be at least 30"},
        RefusedCase{"small_ldc", [](Problem& p) { p.ldc = 19; }, ErrorCode::kBadInput,
                    "ldc = 19: this leading dimension must be at least 20"},
        RefusedCase{"small_ldd", [](Problem& p) { p.ldd = 1; }, ErrorCode::kBadInput,
                    "ldd = 1: this leading dimension must be at least 20"},
        RefusedCase{"f32_operands", [](Problem& p) { p.type = DataType::kF32; },
                    ErrorCode::kUnsupported, "type = f32: operands must be f16 or bf16"},
        RefusedCase{"bf16_accumulator", [](Problem& p) { p.accumulator = DataType::kBf16; },
                    ErrorCode::kUnsupported, "accumulator = bf16: expected f32 or f16"},
        RefusedCase{"f16_accumulator_of_bf16",
                    [](Problem& p) {
                      p.type = DataType::kBf16;
                      p.accumulator = DataType::kF16;
                    },
                    ErrorCode::kUnsupported,
                    "accumulator = f16 with type = bf16: f16 accumulation needs f16 operands"}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(Problem, ZeroSizesAreLegal) {
  for (const auto& problem : {sized(0, 20, 30), sized(10, 0, 30), sized(0, 0, 0)}) {
    const auto made = make_problem(problem);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->is_empty());
  }
  EXPECT_FALSE(make_problem(sized(10, 20, 0))->is_empty()) << "beta * C is still to be written";
}

TEST(Problem, CountsWorkAndBytes) {
  Problem problem = *make_problem(sized(10, 20, 30));
  EXPECT_EQ(problem.flop(), 2.0 * 10 * 20 * 30);
  EXPECT_EQ(problem.min_bytes(), 2.0 * (300 + 600 + 200));
  problem.beta = 1;
  EXPECT_EQ(problem.min_bytes(), 2.0 * (300 + 600 + 400)) << "C is read";
}

Problem batched(std::int64_t batch) {
  Problem problem = sized(10, 20, 30);
  problem.batch = batch;
  return problem;
}

TEST(Batch, StridesThatAreNotGivenAreDense) {
  Problem problem = batched(4);
  problem.layout = Layout::kNN;
  problem.lda = 16;
  problem.ldc = 24;
  const Problem made = *make_problem(problem);
  EXPECT_EQ(made.stride_a, 30 * 16) << "A is stored as k lines of m";
  EXPECT_EQ(made.stride_b, 20 * 30);
  EXPECT_EQ(made.stride_c, 10 * 24);
  EXPECT_EQ(made.stride_d, 10 * 20);
}

TEST(Batch, CLiesLikeDUnlessItSaysOtherwise) {
  Problem problem = batched(4);
  problem.stride_d = 1000;
  EXPECT_EQ(make_problem(problem)->stride_c, 1000);
  problem.stride_c = 0;
  EXPECT_EQ(make_problem(problem)->stride_c, 0);
}

// Interleaved heads: the stride is smaller than a matrix.
TEST(Batch, ResultsMayInterleave) {
  Problem problem = batched(3);
  problem.ldd = 60;
  problem.stride_d = 20;
  EXPECT_TRUE(make_problem(problem));
}

TEST(Batch, WithoutABatchStridesMeanNothing) {
  for (const std::int64_t batch : {0, 1}) {
    Problem problem = batched(batch);
    problem.stride_a = 7;
    problem.stride_b = -7;
    problem.stride_d = 0;
    Problem plain = batched(batch);
    ASSERT_TRUE(make_problem(problem));
    EXPECT_EQ(*make_problem(problem), *make_problem(plain));
    EXPECT_EQ(make_problem(problem)->is_empty(), batch == 0);
  }
}

TEST(Batch, CountsWorkAndEachDistinctByteOnce) {
  Problem problem = batched(4);
  EXPECT_EQ(make_problem(problem)->flop(), 4 * 2.0 * 10 * 20 * 30);
  EXPECT_EQ(make_problem(problem)->min_bytes(), 4 * 2.0 * (300 + 600 + 200));
  problem.stride_b = 0;
  problem.beta = 1;
  EXPECT_EQ(make_problem(problem)->min_bytes(), 2.0 * (4 * 300 + 600 + 4 * 400));
  problem.stride_c = 0;
  EXPECT_EQ(make_problem(problem)->min_bytes(), 2.0 * (4 * 300 + 600 + 5 * 200));
}

TEST(Batch, IsDescribedByWhatIsNotDense) {
  Problem problem = batched(4);
  EXPECT_EQ(shape_name(*make_problem(problem)), "10_20_30x4");
  EXPECT_EQ(describe(*make_problem(problem)), "10_20_30x4 f16/f32 tn");
  EXPECT_EQ(describe(signature_of(*make_problem(problem))), "f16/f32 tn batched");
  problem.stride_a = 0;
  problem.stride_d = 256;
  EXPECT_EQ(describe(*make_problem(problem)), "10_20_30x4 f16/f32 tn stride_a=0 stride_d=256");
}

TEST(Batch, IsReadFromTheCommandLinesShape) {
  const auto parsed = parse_mnk("10_20_30x4", Problem());
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(*parsed, *make_problem(batched(4)));
  EXPECT_EQ(parse_mnk("10_20_30x", Problem()).error().what,
            "--mnk '10_20_30x': '' is not a whole number");
  EXPECT_EQ(parse_mnk("10x20x30", Problem()).error().what,
            "--mnk '10x20x30': expected three sizes joined by '_', for example 64_4096_64");
}

Problem grouped(std::int64_t groups) {
  Problem problem = sized(10, 20, 30);
  problem.batch = groups;
  problem.grouped = true;
  return problem;
}

TEST(Groups, ShareAllButB) {
  const Problem made = *make_problem(grouped(4));
  EXPECT_FALSE(made.is_batched());
  EXPECT_EQ(made.stride_b, 20 * 30);
  EXPECT_EQ(made.stride_a, kDense);
  EXPECT_EQ(made.stride_d, kDense);
  EXPECT_EQ(made.flop(), 2.0 * 10 * 20 * 30) << "m counts the rows of all groups";
  EXPECT_EQ(made.min_bytes(), 2.0 * (300 + 4 * 600 + 200));
  EXPECT_EQ(make_problem(grouped(40))->min_bytes(), 2.0 * (300 + 10 * 600 + 200))
      << "ten rows are in ten groups at most";
  EXPECT_EQ(describe(made), "10_20_30g4 f16/f32 tn");
  EXPECT_EQ(describe(signature_of(made)), "f16/f32 tn grouped");
  EXPECT_EQ(describe(*make_problem(grouped(1))), "10_20_30g1 f16/f32 tn");
}

TEST(Groups, OneAloneHasNoStride) {
  for (const std::int64_t stride : {std::int64_t{-8}, std::int64_t{7}, std::int64_t{1} << 60}) {
    Problem problem = grouped(1);
    problem.stride_b = stride;
    EXPECT_EQ(*make_problem(problem), *make_problem(grouped(1)));
    problem.batch = 2;
    EXPECT_EQ(make_problem(problem).has_value(), stride == 7);
  }
}

TEST(Groups, NeedRowsOfA) {
  Problem problem = grouped(4);
  problem.layout = Layout::kNT;
  EXPECT_EQ(make_problem(problem).error().what,
            "layout = nt: groups are rows of A, which must have k contiguous");
  problem.layout = Layout::kTT;
  EXPECT_TRUE(make_problem(problem));
}

TEST(Problem, LargestSizesDoNotOverflowTheCounts) {
  const std::int64_t most = 2147483647;
  EXPECT_NEAR(make_problem(sized(most, most, most))->flop(), 1.98e28, 0.01e28);
}

TEST(Names, UnknownTypeAndLayoutListTheKnownOnes) {
  EXPECT_EQ(parse_data_type("int8").error().what, "unknown type 'int8': expected f16, bf16 or f32");
  EXPECT_EQ(parse_layout("NTN").error().what, "unknown layout 'NTN': expected tn, nn, nt or tt");
}

TEST(Names, AreReadBackInAnyCase) {
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kF32})
    EXPECT_EQ(*parse_data_type(name(type)), type);
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    EXPECT_EQ(*parse_layout(name(layout)), layout);
  EXPECT_EQ(*parse_data_type("BF16"), DataType::kBf16);
  EXPECT_EQ(*parse_layout("Tn"), Layout::kTN);
}

TEST(Describe, SaysOnlyWhatIsNotTheDefault) {
  Problem problem = *make_problem(sized(64, 4096, 128));
  EXPECT_EQ(shape_name(problem), "64_4096_128");
  EXPECT_EQ(describe(problem), "64_4096_128 f16/f32 tn");
  problem.lda = 136;
  problem.beta = 0.5f;
  problem.alignment.b = 16;
  EXPECT_EQ(describe(problem), "64_4096_128 f16/f32 tn lda=136 beta=0.5 align=256,16,256,256");
}

TEST(Mnk, ReadsThreeSizes) {
  const auto problem = parse_mnk("64_4096_128", {});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->m, 64);
  EXPECT_EQ(problem->n, 4096);
  EXPECT_EQ(problem->k, 128);
}

TEST(Mnk, RefusesWithTheTextAndTheRule) {
  EXPECT_EQ(parse_mnk("64_4096", {}).error().what,
            "--mnk '64_4096': expected three sizes joined by '_', for example 64_4096_64");
  EXPECT_EQ(parse_mnk("64_x_64", {}).error().what, "--mnk '64_x_64': 'x' is not a whole number");
  EXPECT_EQ(parse_mnk("64_99999999999999999999_64", {}).error().what,
            "--mnk '64_99999999999999999999_64': '99999999999999999999' does not fit in 64 bits");
  EXPECT_EQ(parse_mnk("64_-1_64", {}).error().what, "n = -1: a size must not be negative");
}

RC_GTEST_PROP(Mnk, AnyShapeComesBack, ()) {
  const auto size = rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 31);
  const Problem problem = sized(*size, *size, *size);
  RC_ASSERT(*parse_mnk(shape_name(problem), {}) == *make_problem(problem));
}

RC_GTEST_PROP(Mnk, AnyTextIsSafe, (const std::string& text)) {
  const auto problem = parse_mnk(text, {});
  RC_ASSERT(problem.has_value() || problem.error().code == ErrorCode::kBadInput);
}

Problem with_f32_output(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.f32_output = true;
  return *make_problem(problem);
}

TEST(F32Output, IsSaid) {
  const Problem problem = with_f32_output(10, 20, 30);
  EXPECT_EQ(problem.output_type(), DataType::kF32);
  EXPECT_EQ(describe(problem), "10_20_30 f16/f32 tn out=f32");
  EXPECT_EQ(describe(signature_of(problem)), "f16/f32 tn out=f32");
  EXPECT_NE(signature_of(problem), signature_of(*make_problem([] {
              Problem plain;
              plain.m = 10;
              return plain;
            }())));
}

TEST(F32Output, CountsFourBytesForCAndD) {
  Problem problem = with_f32_output(10, 20, 30);
  EXPECT_EQ(problem.min_bytes(), 2 * (10 * 30 + 30 * 20) + 4 * 10 * 20);
  problem.beta = 1;
  EXPECT_EQ(problem.min_bytes(), 2 * (10 * 30 + 30 * 20) + 8 * 10 * 20);
  problem.batch = 3;
  problem.grouped = true;
  EXPECT_EQ(make_problem(problem)->min_bytes(), 2 * (10 * 30 + 3 * 30 * 20) + 8 * 10 * 20);
}

TEST(F32Output, NeedsF32Accumulators) {
  Problem problem = with_f32_output(10, 20, 30);
  problem.accumulator = DataType::kF16;
  const auto made = make_problem(problem);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what, "output = f32 with accumulator = f16: needs f32");
}

TEST(F32Output, RowsOfDAreHalfAsFarApartAtMost) {
  Problem problem = with_f32_output(10, 20, 30);
  problem.ldd = std::int64_t{1} << 38;
  const auto made = make_problem(problem);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what,
            "ldd = 274877906944: this leading dimension must be at most 274877906943");
  problem.ldd -= 1;
  EXPECT_TRUE(make_problem(problem));
}

TEST(F32Output, IsTheOperandsTypeOrF32) {
  Problem problem;
  problem.type = DataType::kBf16;
  ASSERT_TRUE(set_output(problem, "f32"));
  EXPECT_TRUE(problem.f32_output);
  ASSERT_TRUE(set_output(problem, "bf16"));
  EXPECT_FALSE(problem.f32_output);
  EXPECT_EQ(set_output(problem, "f16").error().what,
            "output = f16: with bf16 operands it must be bf16 or f32");
}

// A vector lies in two ways at once; it is named by the one that kernels read faster.
TEST(Problem, AVectorLiesAlongK) {
  Problem problem;
  problem.m = 1;
  problem.n = 64;
  problem.k = 100;
  problem.layout = Layout::kNN;
  const auto packed = make_problem(problem);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->layout, Layout::kTN);
  EXPECT_EQ(packed->lda, 100);
  problem.layout = Layout::kNT;
  EXPECT_EQ(make_problem(problem)->layout, Layout::kTT);
  problem.lda = 3;  // its elements lie apart: not along k
  EXPECT_EQ(make_problem(problem)->layout, Layout::kNT);
  problem.lda = 0;
  problem.m = 64;
  problem.n = 1;
  EXPECT_EQ(make_problem(problem)->layout, Layout::kNN);
  EXPECT_EQ(make_problem(problem)->ldb, 100);
}

}  // namespace
}  // namespace gemmsmith
