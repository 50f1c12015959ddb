// compiler_log_test.cpp -- the figures of ptxas are read from real lines, and nothing else is.
#include "compile/compiler_log.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <string>

namespace gemmsmith::compile {
namespace {

TEST(CompilerLog, ReadsAKernelThatSpills) {
  const LogFigures figures = read_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
      "ptxas info    : Function properties for gemm\n"
      "    64 bytes stack frame, 128 bytes spill stores, 192 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 64 bytes cumulative stack size, "
      "40 bytes smem\n");
  EXPECT_EQ(figures.registers, 168);
  EXPECT_EQ(figures.stack_bytes, 64);
  EXPECT_EQ(figures.spill_bytes, 320);
  EXPECT_EQ(figures.static_shared_bytes, 40);
  EXPECT_FALSE(figures.serialised);
}

TEST(CompilerLog, TakesTheWorstOfSeveralFunctions) {
  const LogFigures figures = read_log(
      "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers\n"
      "    16 bytes stack frame, 0 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Used 20 registers, used 0 barriers");
  EXPECT_EQ(figures.registers, 32);
  EXPECT_EQ(figures.stack_bytes, 16);
  EXPECT_EQ(figures.spill_bytes, 14);
}

struct AdviceCase {
  const char* line;
  bool serialised;
};

class CompilerLogAdvice : public ::testing::TestWithParam<AdviceCase> {};

TEST_P(CompilerLogAdvice, TellsSerialisationFromOtherText) {
  EXPECT_EQ(read_log(GetParam().line).serialised, GetParam().serialised) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, CompilerLogAdvice,
    ::testing::Values(
        AdviceCase{"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                   "instructions are serialized due to insufficient register resources",
                   true},
        AdviceCase{"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored",
                   true},
        AdviceCase{"ptxas error   : (C7602) wgmma needs more registers", true},
        AdviceCase{"ptxas info    : (C7499) something else", false},
        AdviceCase{"ptxas info    : (C75) cut short", false},
        AdviceCase{"ptxas info    : Compiling entry function 'ABC7510' for 'sm_90a'", false},
        AdviceCase{"", false}));

RC_GTEST_PROP(CompilerLog, AnyNumbersComeBack, ()) {
  const int stack = *rc::gen::inRange(0, 1 << 20);
  const int stores = *rc::gen::inRange(0, 1 << 20);
  const int loads = *rc::gen::inRange(0, 1 << 20);
  const int registers = *rc::gen::inRange(0, 256);
  const LogFigures figures =
      read_log(std::to_string(stack) + " bytes stack frame, " + std::to_string(stores) +
               " bytes spill stores, " + std::to_string(loads) + " bytes spill loads\nUsed " +
               std::to_string(registers) + " registers");
  RC_ASSERT(figures.stack_bytes == stack);
  RC_ASSERT(figures.spill_bytes == stores + loads);
  RC_ASSERT(figures.registers == registers);
}

// Found by fuzzing.
TEST(CompilerLog, SumsOfHugeSpillsStayNumbers) {
  const std::string line = "2147483647 bytes spill stores, 2147483647 bytes spill loads\n";
  EXPECT_EQ(read_log(line + line).spill_bytes, 2147483647);
}

RC_GTEST_PROP(CompilerLog, AnyTextIsSafe, (const std::string& text)) {
  RC_ASSERT(read_log(text + " bytes spill stores").spill_bytes >= 0);
}

}  // namespace
}  // namespace gemmsmith::compile
