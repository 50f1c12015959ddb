// The rule that names what limits a launch: each answer, its sentence, and what comes first.
#include "measure/limiter.h"

#include <gtest/gtest.h>

#include <ostream>

namespace gemmsmith {
namespace {

// A launch of 100 us with SMs busy all the time and nothing near its peak.
LimiterInput quiet() {
  LimiterInput input;
  input.us = 100;
  input.empty_us = 0.56;
  input.target = *known_target("h200");
  CounterValues& v = input.counters;
  v[Counter::kTensorPercent] = 40;
  v[Counter::kSharedPipePercent] = 30;
  v[Counter::kL2Percent] = 20;
  v[Counter::kDramPercent] = 35;
  v[Counter::kActiveCycles] = 95;
  v[Counter::kElapsedCycles] = 100;
  v[Counter::kCtas] = 264;
  return input;
}

LoadReport throttled() {
  LoadReport load;
  load.power_w = 695;
  load.power_limit_w = 700;
  load.sm_clock_mhz = 1515;
  load.throttled = 0x4;
  load.throttled_share = 0.9;
  return load;
}

struct Case {
  const char* label;
  void (*change)(LimiterInput&);
  Limiter limiter;
  const char* sentence;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.label; }

class LimiterRule : public ::testing::TestWithParam<Case> {};

TEST_P(LimiterRule, NamesOneThingWithItsNumbers) {
  LimiterInput input = quiet();
  GetParam().change(input);
  const LimiterVerdict verdict = find_limiter(input);
  EXPECT_STREQ(name(verdict.limiter), name(GetParam().limiter));
  EXPECT_EQ(verdict.sentence, GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(
    All, LimiterRule,
    ::testing::Values(
        Case{"nothing_counted", [](LimiterInput& i) { i.counters = {}; }, Limiter::kUnknown,
             "no hardware counters"},
        Case{"launch", [](LimiterInput& i) { i.us = 1.5; }, Limiter::kLaunch,
             "an empty kernel takes 0.56 of its 1.50 us"},
        // Needs no counters, and comes before everything else.
        Case{"launch_before_all",
             [](LimiterInput& i) {
               i.us = 1.6;
               i.counters[Counter::kTensorPercent] = 99;
             },
             Limiter::kLaunch, "an empty kernel takes 0.56 of its 1.60 us"},
        Case{"just_no_launch", [](LimiterInput& i) { i.us = 1.7; }, Limiter::kLatency,
             "nothing is busier than the tensor pipe at 40 % of its peak"},
        Case{"tensor", [](LimiterInput& i) { i.counters[Counter::kTensorPercent] = 92; },
             Limiter::kTensorPipe, "the tensor pipe is at 92 % of its peak"},
        Case{"tensor_before_equals",
             [](LimiterInput& i) {
               i.counters[Counter::kTensorPercent] = 70;
               i.counters[Counter::kDramPercent] = 70;
             },
             Limiter::kTensorPipe, "the tensor pipe is at 70 % of its peak"},
        Case{"power",
             [](LimiterInput& i) {
               i.counters[Counter::kTensorPercent] = 92;
               i.load = throttled();
             },
             Limiter::kPower,
             "the tensor pipe is busy 92 % of the cycles, at 1515 of 1980 MHz and 695 of 700 W "
             "(sw_power_cap)"},
        Case{"seldom_throttled_is_no_power",
             [](LimiterInput& i) {
               i.counters[Counter::kTensorPercent] = 92;
               i.load = throttled();
               i.load->throttled_share = 0.4;
             },
             Limiter::kTensorPipe, "the tensor pipe is at 92 % of its peak"},
        // The memory's clock is not what the power limit holds down.
        Case{"throttled_memory_is_memory",
             [](LimiterInput& i) {
               i.counters[Counter::kDramPercent] = 88;
               i.load = throttled();
             },
             Limiter::kDram, "device memory is at 88 % of its peak"},
        Case{"shared", [](LimiterInput& i) { i.counters[Counter::kSharedPipePercent] = 81; },
             Limiter::kSharedMemory, "the shared-memory pipe is at 81 % of its peak"},
        Case{"l2", [](LimiterInput& i) { i.counters[Counter::kL2Percent] = 60; }, Limiter::kL2,
             "L2 is at 60 % of its peak"},
        Case{"tail", [](LimiterInput& i) { i.counters[Counter::kActiveCycles] = 50; },
             Limiter::kTail, "SMs have no work 50 % of the time: 264 CTAs on 132 SMs"},
        Case{"busy_before_tail",
             [](LimiterInput& i) {
               i.counters[Counter::kActiveCycles] = 50;
               i.counters[Counter::kDramPercent] = 61;
             },
             Limiter::kDram, "device memory is at 61 % of its peak"},
        Case{"latency_with_stalls",
             [](LimiterInput& i) {
               i.counters[Counter::kStallWait] = 0.5;
               i.counters[Counter::kStallWgmma] = 7;
             },
             Limiter::kLatency,
             "nothing is busier than the tensor pipe at 40 % of its peak; warps wait most for "
             "wgmma"}),
    [](const auto& tested) { return std::string(tested.param.label); });

}  // namespace
}  // namespace gemmsmith
