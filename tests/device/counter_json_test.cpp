// What was counted comes back as it was; what cannot have been counted is refused by name.
#include "device/counter_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace gemmsmith {
namespace {

using nlohmann::json;

TEST(CounterJson, EveryCounterComesBackAsItWas) {
  CounterValues values;
  double value = 1e15 / 3;
  for (const CounterRow& row : counter_table()) values[row.counter] = value /= 7;
  values[Counter::kIpc].reset();
  const auto back = counters_from_json(json::parse(counters_to_json(values).dump()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(*back, values);
}

TEST(CounterJson, WhatIsNoNumberWasNotCounted) {
  CounterValues values;
  values[Counter::kIpc] = std::numeric_limits<double>::quiet_NaN();
  values[Counter::kCtas] = 132;
  EXPECT_EQ(counters_to_json(values).dump(), R"({"ctas":132.0})");
}

TEST(CounterJson, CountersOfANewerProgramAreLeftOut) {
  const auto values = counters_from_json(json::parse(R"({"ipc":2,"warp_speed":9})"));
  ASSERT_TRUE(values) << values.error().what;
  EXPECT_EQ(counters_to_json(*values).dump(), R"({"ipc":2.0})");
}

TEST(CounterJson, WhatCannotHaveBeenCountedIsRefused) {
  const auto error_of = [](const char* text) {
    const auto values = counters_from_json(json::parse(text));
    return values ? std::string("read") : values.error().what;
  };
  EXPECT_EQ(error_of("[1]"), "counters: [1] is no object of names and numbers");
  EXPECT_EQ(error_of(R"({"ipc":-0.5})"), "counters: ipc: -0.5 is not a number of 0 or more");
  EXPECT_EQ(error_of(R"({"ctas":"many"})"),
            "counters: ctas: \"many\" is not a number of 0 or more");
  EXPECT_EQ(error_of(R"({"ctas":null})"), "counters: ctas: null is not a number of 0 or more");
}

TEST(CounterJson, EnergyIsKeptBesideTheCounters) {
  CounterValues values;
  values[Counter::kCtas] = 132;
  values.energy_uj = 12.5;
  EXPECT_EQ(counters_to_json(values).dump(), R"({"ctas":132.0,"energy_uj":12.5})");
  EXPECT_EQ(*counters_from_json(counters_to_json(values)), values);
  EXPECT_EQ(counters_from_json(json::parse(R"({"energy_uj":-1})")).error().what,
            "counters: energy_uj: -1 is not a number of 0 or more");
}

}  // namespace
}  // namespace gemmsmith
