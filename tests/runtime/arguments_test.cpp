// The argument rules of gemmsmith.h: each with its exact text, and their order.
#include "runtime/arguments.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gemmsmith::runtime {
namespace {

gemmsmithProblem_t good_problem() {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = GEMMSMITH_OP_T;
  problem.transb = GEMMSMITH_OP_N;
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.pointer_mode = GEMMSMITH_POINTER_MODE_HOST;
  problem.m = 16;
  problem.n = 24;
  problem.k = 32;
  problem.lda = 32;
  problem.ldb = 32;
  problem.ldc = 16;
  problem.ldd = 16;
  return problem;
}

struct ProblemCase {
  std::string name;
  std::function<void(gemmsmithProblem_t&)> change;
  ErrorCode code;
  std::string text;
};

class BadProblem : public testing::TestWithParam<ProblemCase> {};

TEST_P(BadProblem, IsNamedWithValueAndRule) {
  gemmsmithProblem_t problem = good_problem();
  GetParam().change(problem);
  const auto checked = check_problem(&problem);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what, GetParam().text);
  EXPECT_EQ(checked.error().code, GetParam().code);
}

const std::vector<ProblemCase> kBadProblems = {
    {"SizeTooSmall", [](auto& p) { p.size = 79; }, ErrorCode::kBadInput,
     "problem->size = 79: must be sizeof(gemmsmithProblem_t), which is 136"},
    {"SizeNotSet", [](auto& p) { p.size = 0; }, ErrorCode::kBadInput,
     "problem->size = 0: must be sizeof(gemmsmithProblem_t), which is 136"},
    {"Transa", [](auto& p) { p.transa = 3; }, ErrorCode::kBadInput,
     "transa = 3: expected GEMMSMITH_OP_N (0), GEMMSMITH_OP_T (1) or GEMMSMITH_OP_C (2)"},
    {"Transb", [](auto& p) { p.transb = -1; }, ErrorCode::kBadInput,
     "transb = -1: expected GEMMSMITH_OP_N (0), GEMMSMITH_OP_T (1) or GEMMSMITH_OP_C (2)"},
    {"Type", [](auto& p) { p.type = 0; }, ErrorCode::kUnsupported,
     "type = 0: only GEMMSMITH_R_16F (2) and GEMMSMITH_R_16BF (14) are supported"},
    {"ComputeType", [](auto& p) { p.compute_type = 70; }, ErrorCode::kUnsupported,
     "compute_type = 70: only GEMMSMITH_COMPUTE_32F (68) and GEMMSMITH_COMPUTE_16F (64) are "
     "supported"},
    {"HalfAccumulationOfBf16",
     [](auto& p) {
       p.type = GEMMSMITH_R_16BF;
       p.compute_type = GEMMSMITH_COMPUTE_16F;
     },
     ErrorCode::kUnsupported,
     "compute_type = GEMMSMITH_COMPUTE_16F (64): needs type GEMMSMITH_R_16F (2), not 14"},
    {"PointerMode", [](auto& p) { p.pointer_mode = 2; }, ErrorCode::kBadInput,
     "pointer_mode = 2: expected GEMMSMITH_POINTER_MODE_HOST (0) or GEMMSMITH_POINTER_MODE_DEVICE "
     "(1)"},
    {"NegativeM", [](auto& p) { p.m = -1; }, ErrorCode::kBadInput,
     "m = -1: a size must not be negative"},
    {"HugeN", [](auto& p) { p.n = std::int64_t{1} << 31; }, ErrorCode::kBadInput,
     "n = 2147483648: a size must be at most 2147483647"},
    {"NegativeK", [](auto& p) { p.k = std::numeric_limits<std::int64_t>::min(); },
     ErrorCode::kBadInput, "k = -9223372036854775808: a size must not be negative"},
    {"LdaBelowK", [](auto& p) { p.lda = 31; }, ErrorCode::kBadInput,
     "lda = 31: must be at least 32, the rows of A as stored"},
    {"LdaOfUntransposed",
     [](auto& p) {
       p.transa = GEMMSMITH_OP_N;
       p.lda = 15;
     },
     ErrorCode::kBadInput, "lda = 15: must be at least 16, the rows of A as stored"},
    // E1: a broadcast operand's leading dimension of 0.
    {"LdbZero", [](auto& p) { p.ldb = 0; }, ErrorCode::kBadInput,
     "ldb = 0: must be at least 32, the rows of B as stored"},
    {"LdbOfTransposed",
     [](auto& p) {
       p.transb = GEMMSMITH_OP_T;
       p.ldb = 23;
     },
     ErrorCode::kBadInput, "ldb = 23: must be at least 24, the rows of B as stored"},
    {"LdcBelowM", [](auto& p) { p.ldc = 15; }, ErrorCode::kBadInput,
     "ldc = 15: must be at least 16, the rows of C as stored"},
    {"LddNegative", [](auto& p) { p.ldd = -16; }, ErrorCode::kBadInput,
     "ldd = -16: must be at least 16, the rows of D as stored"},
    {"LdaOverflow", [](auto& p) { p.lda = std::numeric_limits<std::int64_t>::max() / 16; },
     ErrorCode::kBadInput,
     "lda = 576460752303423487: 16 columns of A would span more than 2^63 bytes"},
    {"TwoActivations",
     [](auto& p) { p.epilogue = GEMMSMITH_EPILOGUE_RELU | GEMMSMITH_EPILOGUE_GELU_TANH; },
     ErrorCode::kBadInput,
     "epilogue = 34: expected at most one activation of gemmsmithEpilogue_t, or-ed with "
     "GEMMSMITH_EPILOGUE_BIAS (4)"},
    {"UnknownEpilogue", [](auto& p) { p.epilogue = 128; }, ErrorCode::kBadInput,
     "epilogue = 128: expected at most one activation of gemmsmithEpilogue_t, or-ed with "
     "GEMMSMITH_EPILOGUE_BIAS (4)"},
    {"Output", [](auto& p) { p.output = 2; }, ErrorCode::kBadInput,
     "output = 2: expected GEMMSMITH_OUTPUT_AS_TYPE (0) or GEMMSMITH_OUTPUT_32F (1)"},
    {"FloatOutputOfHalfAccumulation",
     [](auto& p) {
       p.compute_type = GEMMSMITH_COMPUTE_16F;
       p.output = GEMMSMITH_OUTPUT_32F;
     },
     ErrorCode::kUnsupported,
     "output = GEMMSMITH_OUTPUT_32F (1): needs GEMMSMITH_COMPUTE_32F (68), not 64"},
    {"NegativeBatch", [](auto& p) { p.batch = -1; }, ErrorCode::kBadInput,
     "batch = -1: a size must not be negative"},
    {"NegativeStride",
     [](auto& p) {
       p.batch = 2;
       p.stride_d = 1000;
       p.stride_a = -1;
     },
     ErrorCode::kBadInput, "stride_a = -1: must not be negative"},
    // C6: a stride of 0 would have every product of the batch write one matrix.
    {"OutputsOnTopOfEachOther", [](auto& p) { p.batch = 2; }, ErrorCode::kBadInput,
     "stride_d = 0: the 2 outputs of 16 x 24 with ldd 16 would overlap"},
    {"OutputsThatOverlapByOne",
     [](auto& p) {
       p.batch = 3;
       p.stride_d = 16 * 24 - 1;
     },
     ErrorCode::kBadInput, "stride_d = 383: the 3 outputs of 16 x 24 with ldd 16 would overlap"},
    // D6: strides beyond 2^31 are fine, beyond the address space they are not.
    {"StrideOverflow",
     [](auto& p) {
       p.batch = 4;
       p.stride_d = 1000;
       p.stride_b = std::numeric_limits<std::int64_t>::max() / 16;
     },
     ErrorCode::kBadInput,
     "stride_b = 576460752303423487: 4 matrices would span more than 2^63 bytes"},
    {"NoBias", [](auto& p) { p.epilogue = GEMMSMITH_EPILOGUE_BIAS; }, ErrorCode::kBadInput,
     "bias is NULL: GEMMSMITH_EPILOGUE_BIAS needs m values in device memory"},
    {"OddBias",
     [](auto& p) {
       p.epilogue = GEMMSMITH_EPILOGUE_BIAS;
       p.bias = reinterpret_cast<const void*>(0x1001);
     },
     ErrorCode::kBadInput, "bias = 0x1001: must be a multiple of 2 bytes"},
    // B7: k = 0 still has a rule for leading dimensions.
    {"LdaZeroWithoutK",
     [](auto& p) {
       p.k = 0;
       p.lda = 0;
     },
     ErrorCode::kBadInput, "lda = 0: must be at least 1, the rows of A as stored"},
};

INSTANTIATE_TEST_SUITE_P(Each, BadProblem, testing::ValuesIn(kBadProblems),
                         [](const auto& each) { return each.param.name; });

TEST(CheckProblem, NullIsNamed) {
  const auto checked = check_problem(nullptr);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what, "problem is NULL: pass a gemmsmithProblem_t");
}

// B7: lda = ldb = 1 is what k = 0 needs.
TEST(CheckProblem, EmptyOperandsTakeLeadingDimensionOne) {
  gemmsmithProblem_t problem = good_problem();
  problem.k = 0;
  problem.lda = problem.ldb = 1;
  EXPECT_TRUE(check_problem(&problem));
}

// A9: with one column any legal leading dimension will do, and it may be huge.
TEST(CheckProblem, OneColumnTakesAnyLeadingDimension) {
  gemmsmithProblem_t problem = good_problem();
  problem.m = 1;
  problem.lda = std::int64_t{1} << 60;
  EXPECT_TRUE(check_problem(&problem));
}

// D6: leading dimensions beyond 32 bits.
TEST(CheckProblem, LeadingDimensionsAre64Bit) {
  gemmsmithProblem_t problem = good_problem();
  problem.lda = problem.ldb = problem.ldc = problem.ldd = (std::int64_t{1} << 31) + 8;
  const auto checked = check_problem(&problem);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->ldd, (std::int64_t{1} << 31) + 8);
}

struct GrownProblem {
  gemmsmithProblem_t problem;
  std::int64_t later_field;
};

TEST(CheckProblem, LargerStructureWithZerosIsAccepted) {
  GrownProblem grown = {good_problem(), 0};
  grown.problem.size = sizeof grown;
  EXPECT_TRUE(check_problem(&grown.problem));
}

// The structure of version 0.1 ended with ldd; a program built with it keeps working.
TEST(CheckProblem, TheFirstStructureIsAccepted) {
  gemmsmithProblem_t problem = good_problem();
  problem.size = 80;
  problem.batch = 77;  // not part of the first one
  const auto checked = check_problem(&problem);
  ASSERT_TRUE(checked) << checked.error().what;
  EXPECT_EQ(checked->batch, 0);
  EXPECT_EQ(checked->size, sizeof(gemmsmithProblem_t));
}

// E4: heads of attention lie interleaved; their outputs do not overlap.
TEST(CheckProblem, InterleavedOutputsAreAccepted) {
  gemmsmithProblem_t problem = good_problem();
  problem.batch = 12;
  problem.ldc = problem.ldd = 16 * 12;
  problem.stride_c = problem.stride_d = 16;
  EXPECT_TRUE(check_problem(&problem));
  problem.ldd = 16 * 12 - 1;
  EXPECT_FALSE(check_problem(&problem));
}

TEST(CheckProblem, LargerStructureWithUnknownValuesIsRefused) {
  GrownProblem grown = {good_problem(), 5};
  grown.problem.size = sizeof grown;
  const auto checked = check_problem(&grown.problem);
  ASSERT_FALSE(checked);
  EXPECT_EQ(
      checked.error().what,
      "problem->size = 144: this library knows 136 bytes and the others are not all zero; use "
      "a newer library");
}

// Addresses are only compared, never read, by the checks.
void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

const float kOne = 1;
const float kZero = 0;

MatmulArguments good_arguments() {
  MatmulArguments arguments;
  arguments.alpha = &kOne;
  arguments.beta = &kOne;
  arguments.a = address(0x1000);
  arguments.b = address(0x2000);
  arguments.c = address(0x3000);
  arguments.d = address(0x4000);
  return arguments;
}

struct CallCase {
  std::string name;
  std::function<void(gemmsmithProblem_t&, MatmulArguments&)> change;
  std::string text;
};

class BadCall : public testing::TestWithParam<CallCase> {};

TEST_P(BadCall, IsNamedWithValueAndRule) {
  gemmsmithProblem_t problem = good_problem();
  MatmulArguments arguments = good_arguments();
  GetParam().change(problem, arguments);
  const auto checked = check_problem(&problem);
  ASSERT_TRUE(checked) << checked.error().what;
  const auto call = check_call(*checked, arguments);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().what, GetParam().text);
  EXPECT_EQ(call.error().code, ErrorCode::kBadInput);
}

const std::vector<CallCase> kBadCalls = {
    {"AlphaNull", [](auto&, auto& a) { a.alpha = nullptr; },
     "alpha is NULL: pass a float in host memory"},
    {"BetaNull",
     [](auto& p, auto& a) {
       p.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
       a.beta = nullptr;
     },
     "beta is NULL: pass a float in device memory"},
    {"HalfAlphaNull",
     [](auto& p, auto& a) {
       p.compute_type = GEMMSMITH_COMPUTE_16F;
       a.alpha = nullptr;
     },
     "alpha is NULL: pass a half in host memory"},
    {"AlphaMisaligned",
     [](auto& p, auto& a) {
       p.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
       a.alpha = address(0x1002);
     },
     "alpha = 0x1002: must be a multiple of 4 bytes"},
    {"ANull", [](auto&, auto& a) { a.a = nullptr; }, "A is NULL: pass device memory"},
    {"BNull", [](auto&, auto& a) { a.b = nullptr; }, "B is NULL: pass device memory"},
    {"CNull", [](auto&, auto& a) { a.c = nullptr; }, "C is NULL: pass device memory"},
    {"CNullWithDeviceScalars",
     [](auto& p, auto& a) {
       p.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
       a.c = nullptr;
     },
     "C is NULL: pass device memory"},
    {"DNull", [](auto&, auto& a) { a.d = nullptr; }, "D is NULL: pass device memory"},
    {"AMisaligned", [](auto&, auto& a) { a.a = address(0x1001); },
     "A = 0x1001: must be a multiple of 2 bytes"},
    {"BMisaligned", [](auto&, auto& a) { a.b = address(0x2001); },
     "B = 0x2001: must be a multiple of 2 bytes"},
    {"CMisaligned", [](auto&, auto& a) { a.c = address(0x3001); },
     "C = 0x3001: must be a multiple of 2 bytes"},
    {"DMisaligned", [](auto&, auto& a) { a.d = address(0x4001); },
     "D = 0x4001: must be a multiple of 2 bytes"},
    // E6: an output that is one of the factors.
    {"DIsA", [](auto&, auto& a) { a.d = address(0x1000); }, "D = 0x1000: must not overlap A"},
    {"DIsB", [](auto&, auto& a) { a.d = address(0x2000); }, "D = 0x2000: must not overlap B"},
    {"DIsCWithOtherLd",
     [](auto& p, auto& a) {
       p.ldd = 17;
       a.d = address(0x3000);
     },
     "ldd = 17: must equal ldc = 16 where D is C"},
    {"WorkspaceNull", [](auto&, auto& a) { a.workspace_bytes = 1024; },
     "workspace is NULL: must not be with workspace_bytes = 1024"},
    {"WorkspaceMisaligned",
     [](auto&, auto& a) {
       a.workspace = address(0x5080);
       a.workspace_bytes = 1024;
     },
     "workspace = 0x5080: must be a multiple of 256 bytes"},
    {"WorkspaceHuge",
     [](auto&, auto& a) {
       a.workspace = address(0x5000);
       a.workspace_bytes = std::numeric_limits<std::size_t>::max();
     },
     "workspace_bytes = 18446744073709551615: must be less than 2^63"},
};

INSTANTIATE_TEST_SUITE_P(Each, BadCall, testing::ValuesIn(kBadCalls),
                         [](const auto& each) { return each.param.name; });

// C1: beta = 0 does not look at C.
TEST(CheckCall, CMayBeNullWithoutBeta) {
  MatmulArguments arguments = good_arguments();
  arguments.beta = &kZero;
  arguments.c = nullptr;
  const auto call = check_call(good_problem(), arguments);
  ASSERT_TRUE(call) << call.error().what;
  EXPECT_EQ(call->operands.c, call->operands.d);
}

// C3: alpha = 0 does not look at A and B.
TEST(CheckCall, FactorsMayBeNullWithoutAlpha) {
  MatmulArguments arguments = good_arguments();
  arguments.alpha = &kZero;
  arguments.a = arguments.b = nullptr;
  const auto call = check_call(good_problem(), arguments);
  ASSERT_TRUE(call) << call.error().what;
  EXPECT_TRUE(call->is_scaling());
}

// B4: no pointer is looked at where there is nothing to compute.
TEST(CheckCall, EmptyProblemsNeedNoPointers) {
  for (const auto& [m, n] : {std::pair{0, 24}, std::pair{16, 0}, std::pair{0, 0}}) {
    gemmsmithProblem_t problem = good_problem();
    problem.m = m;
    problem.n = n;
    MatmulArguments arguments;
    arguments.alpha = arguments.beta = &kOne;
    const auto call = check_call(problem, arguments);
    ASSERT_TRUE(call) << call.error().what;
    EXPECT_TRUE(call->problem.is_empty());
  }
}

TEST(CheckCall, OperandsAreExchanged) {
  MatmulArguments arguments = good_arguments();
  arguments.a = address(0x1002);
  arguments.b = address(0x2010);
  arguments.d = address(0x4008);
  const auto call = check_call(good_problem(), arguments);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->operands.a, arguments.b);
  EXPECT_EQ(call->operands.b, arguments.a);
  EXPECT_EQ(call->problem.alignment, (Alignment{16, 2, 256, 8}));
}

TEST(CheckCall, HalfScalarsAreReadAsHalves) {
  gemmsmithProblem_t problem = good_problem();
  problem.compute_type = GEMMSMITH_COMPUTE_16F;
  const std::uint16_t two = 0x4000;
  const std::uint16_t half = 0x3800;
  MatmulArguments arguments = good_arguments();
  arguments.alpha = &two;
  arguments.beta = &half;
  const auto call = check_call(problem, arguments);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->scalars.alpha, 2.0F);
  EXPECT_EQ(call->scalars.beta, 0.5F);
}

// The order that the header promises: with several rules broken, the first is reported; each is
// mended in turn.
TEST(Order, TheFirstBrokenRuleIsReported) {
  gemmsmithProblem_t problem = {};
  MatmulArguments arguments;
  std::vector<std::string> seen;
  const auto first_word = [&] {
    const auto checked = check_problem(&problem);
    const auto call = checked ? check_call(*checked, arguments)
                              : Result<Call>(tl::unexpected<Error>(checked.error()));
    if (call) return std::string();
    return call.error().what.substr(0, call.error().what.find_first_of(" "));
  };
  problem.transa = problem.transb = problem.pointer_mode = 9;
  problem.m = problem.n = problem.k = -1;
  const std::vector<std::pair<std::string, std::function<void()>>> mends = {
      {"problem->size", [&] { problem.size = sizeof problem; }},
      {"transa", [&] { problem.transa = GEMMSMITH_OP_N; }},
      {"transb", [&] { problem.transb = GEMMSMITH_OP_N; }},
      {"type", [&] { problem.type = GEMMSMITH_R_16F; }},
      {"compute_type", [&] { problem.compute_type = GEMMSMITH_COMPUTE_32F; }},
      {"pointer_mode", [&] { problem.pointer_mode = GEMMSMITH_POINTER_MODE_HOST; }},
      {"m", [&] { problem.m = 4; }},
      {"n", [&] { problem.n = 5; }},
      {"k", [&] { problem.k = 6; }},
      {"lda", [&] { problem.lda = 4; }},
      {"ldb", [&] { problem.ldb = 6; }},
      {"ldc", [&] { problem.ldc = 4; }},
      {"ldd", [&] { problem.ldd = 4; }},
      {"alpha", [&] { arguments.alpha = &kOne; }},
      {"beta", [&] { arguments.beta = &kOne; }},
      {"A", [&] { arguments.a = address(0x1000); }},
      {"B", [&] { arguments.b = address(0x2000); }},
      {"C", [&] { arguments.c = address(0x3000); }},
      {"D", [&] { arguments.d = address(0x4000); }},
  };
  arguments.workspace_bytes = 1;
  for (const auto& [argument, mend] : mends) {
    EXPECT_EQ(first_word(), argument);
    mend();
  }
  EXPECT_EQ(first_word(), "workspace");
}

}  // namespace
}  // namespace gemmsmith::runtime
