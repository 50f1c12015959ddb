// Recorded series: what is read, and where what is wrong is said to be.
#include "monitor/series.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <ostream>

namespace gemmsmith::monitor {
namespace {

TEST(MonitorSeries, IsReadLineByLine) {
  const auto series = parse_series(
      "# made by hand\n"
      "t_s,shape,config,latency_us,promised_us,l2_miss_pct,throttle\n"
      "0.5,64_64_64,sm90_ws:n32,32,20,12.5,none\n"
      "\n"
      "1.0,128_64_64,,4,4,,sw_power_cap+idle\n"
      "1.5,64_64_64,sm90_ws:n64,,2,99,gpu_idle\n",
      "run.csv", {});
  ASSERT_TRUE(series) << series.error().what;
  ASSERT_EQ(series->samples.size(), 3U);
  EXPECT_EQ(series->samples[0].t_s, 0.5);
  EXPECT_EQ(shape_name(series->samples[0].problem), "64_64_64");
  EXPECT_EQ(series->samples[0].values[0], 1.5);
  EXPECT_EQ(series->samples[0].values[1], 12.5);
  EXPECT_FALSE(series->samples[0].throttled);
  EXPECT_EQ(series->samples[1].values[0], 1);
  EXPECT_FALSE(series->samples[1].values[1]);
  EXPECT_TRUE(series->samples[1].throttled);
  EXPECT_FALSE(series->samples[2].values[0]);
  EXPECT_FALSE(series->samples[2].throttled);
  ASSERT_EQ(series->plans.size(), 2U);
  EXPECT_EQ(series->plans[0].second, "sm90_ws:n32");  // the first that is named
  EXPECT_EQ(series->plans[1].second, "");
  EXPECT_TRUE(series->present[0]);
  EXPECT_TRUE(series->present[1]);
  EXPECT_FALSE(series->present[2]);
}

TEST(MonitorSeries, TellsWhatWasAtHandAndWhatWasLeft) {
  const auto series = parse_series(
      "t_s,shape,config,next,latency_ratio,of_left\n"
      "0.5,64_64_64,sm90_ws:n32,sm90_ws:n64 sm80_mma:m32,1,0\n"
      "0.6,64_64_64,,,2,1\n"
      "0.6,64_64_128,sm90_ws:n32,,2,0\n",
      "run.csv", {});
  ASSERT_TRUE(series) << series.error().what;
  EXPECT_TRUE(series->has_alternates);
  ASSERT_EQ(series->alternates.size(), 2U);
  EXPECT_EQ(series->alternates[0], (std::vector<std::string>{"sm90_ws:n64", "sm80_mma:m32"}));
  EXPECT_TRUE(series->alternates[1].empty());
  EXPECT_FALSE(series->samples[0].of_left);
  EXPECT_TRUE(series->samples[1].of_left);
}

struct Wrong {
  const char* label;
  const char* text;
  const char* message;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.label; }

class WrongSeries : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSeries, IsNamedWithItsPlace) {
  const auto series = parse_series(GetParam().text, "run.csv", {});
  ASSERT_FALSE(series);
  EXPECT_EQ(series.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(series.error().what, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, WrongSeries,
    ::testing::Values(
        Wrong{"empty", "", "run.csv: empty: expected a header"},
        Wrong{"unknown_column", "t_s,shape,config,speed\n",
              "run.csv:1: unknown column 'speed': expected t_s, shape, config, latency_us, "
              "promised_us, throttle, of_left, next or a metric"},
        Wrong{"column_twice", "t_s,shape,config,ipc,ipc\n", "run.csv:1: the column 'ipc' twice"},
        Wrong{"no_time", "shape,config\n", "run.csv:1: no column 't_s'"},
        Wrong{"half_a_ratio", "t_s,shape,config,latency_us\n",
              "run.csv:1: latency_us and promised_us belong together"},
        Wrong{"two_ratios", "t_s,shape,config,latency_us,promised_us,latency_ratio\n",
              "run.csv:1: latency_ratio besides latency_us: expected one of them"},
        Wrong{"fields", "t_s,shape,config\n1,64_64_64\n", "run.csv:2: 2 fields, the header has 3"},
        Wrong{"value", "t_s,shape,config,l2_miss_pct\n1,64_64_64,,120\n",
              "run.csv:2: l2_miss_pct = '120': expected a number from 0 to 100"},
        Wrong{"back_in_time", "t_s,shape,config\n2,64_64_64,\n1,64_64_64,\n",
              "run.csv:3: t_s = '1': expected time to go on from 2"},
        Wrong{"promise", "t_s,shape,config,latency_us,promised_us\n1,64_64_64,,3,0\n",
              "run.csv:2: promised_us = '0': expected a number from 0.001 to 1e+12"}),
    [](const auto& tested) { return std::string(tested.param.label); });

RC_GTEST_PROP(MonitorSeries, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto series = parse_series("t_s,shape,config,ipc\n" + text, "s", {});
  RC_ASSERT(series.has_value() || series.error().code == ErrorCode::kBadInput);
}

}  // namespace
}  // namespace gemmsmith::monitor
