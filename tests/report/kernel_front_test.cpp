#include "report/kernel_front.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "report/rows.h"

namespace gemmsmith::report {
namespace {

TEST(KernelFront, FirstTakesTheKernelThatGainsMostOverAllShapes) {
  Rows rows;
  rows.shape(64, 64, 64).screened("sm90_ws:m128", 1.5).screened("sm90_ws:n128", 1.4);
  rows.shape(128, 64, 64).screened("sm90_ws:n128", 1.4);
  const auto front = kernel_front(rows.all, 10);
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[0].kernels, 0);
  EXPECT_EQ(front[0].speed, 1);
  EXPECT_EQ(front[1].added, "sm90_ws:n128");
  EXPECT_NEAR(front[1].speed, 1.4, 1e-9);
  EXPECT_EQ(front[2].added, "sm90_ws:m128");
  EXPECT_NEAR(front[2].speed, std::sqrt(1.5 * 1.4), 1e-9);
}

// Group, raster and split are arguments of a launch: they cost no second kernel.
TEST(KernelFront, LaunchTimeVariantsAreOneKernel) {
  Rows rows;
  rows.shape(64, 64, 64).screened("sm90_ws:m128.g4", 1.2);
  rows.shape(128, 64, 64).screened("sm90_ws:m128.g16.r1", 1.3);
  const auto front = kernel_front(rows.all, 10);
  ASSERT_EQ(front.size(), 2U);
  EXPECT_EQ(front[1].added, "sm90_ws:m128");
  EXPECT_NEAR(front[1].speed, std::sqrt(1.2 * 1.3), 1e-9);
}

TEST(KernelFront, WhatIsSlowerOrFailedOrTheVendorsIsNoKernelToShip) {
  Rows rows;
  rows.shape(64, 64, 64).screened("sm90_ws:m128", 0.9);
  rows.add(Kind::kVendor, "cublaslt:a66.t21.s35", 1.5, Setting::kChained, Stage::kScreen);
  rows.screened("sm90_ws:n128", 1.5).all.back().status = Status::kWrong;
  EXPECT_EQ(kernel_front(rows.all, 10).size(), 1U);
}

TEST(KernelFront, OfNoRowsIsTheStart) { EXPECT_EQ(kernel_front({}, 10).size(), 1U); }

// More kernels never serve worse, no step gains more than the one before, and all of them together
// serve each shape by its best.
RC_GTEST_PROP(KernelFront, RisesLessAndLessToTheBestOfEachShape, ()) {
  const auto ratios = *rc::gen::container<std::vector<std::vector<int>>>(
      4, rc::gen::container<std::vector<int>>(5, rc::gen::inRange(80, 200)));
  Rows rows;
  double log_best = 0;
  for (std::size_t shape = 0; shape < ratios.size(); ++shape) {
    rows.shape(64, 64, 64 * static_cast<std::int64_t>(shape + 1));
    double best = 1;
    for (std::size_t kernel = 0; kernel < ratios[shape].size(); ++kernel) {
      const double ratio = ratios[shape][kernel] / 100.0;
      rows.screened(fmt::format("sm90_ws:n{}", 64 + 8 * kernel), ratio);
      best = std::max(best, ratio);
    }
    log_best += std::log(best);
  }
  const auto front = kernel_front(rows.all, 100);
  double gained = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < front.size(); ++i) {
    const double gain = std::log(front[i].speed / front[i - 1].speed);
    RC_ASSERT(gain > 0);
    RC_ASSERT(gain <= gained + 1e-9);
    gained = gain;
  }
  RC_ASSERT(std::abs(std::log(front.back().speed) - log_best / 4) < 1e-9);
}

}  // namespace
}  // namespace gemmsmith::report
