// Grids, tensor maps and refusals of launch plans; launches on the fake driver, whose kernels
// really multiply.
#include "plan/launch_plan.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "device/cuda.h"
#include "device/fake_driver.h"
#include "device/scoped_environment.h"
#include "plan/plan_fixtures.h"

namespace gemmsmith::plan {
namespace {

using test::config_of;
using test::h200;
using test::problem_of;
using test::ScopedEnvironment;

Result<LaunchPlan> plan_of(const char* config, const Problem& problem) {
  return make_launch_plan(config_of(config), problem, h200());
}

TEST(LaunchPlan, GridCoversEveryTileInWholeClusters) {
  const auto plan = plan_of("sm90_ws:w2.m128.n256.cm2.s3", problem_of(300, 1000, 512));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->args.tiles_m, 3);  // not rounded to the cluster
  EXPECT_EQ(plan->args.tiles_n, 4);
  EXPECT_EQ(plan->cluster, 2U);
  EXPECT_EQ(plan->grid, 2U * 2 * 4);
  EXPECT_EQ(plan->block, 384U);
  EXPECT_TRUE(plan->programmatic);
}

TEST(LaunchPlan, SplitKMultipliesTheGrid) {
  const auto plan = plan_of("sm90_ws:n64.e1.sp1.sk4", problem_of(64, 128, 4096));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->cluster, 4U);
  EXPECT_EQ(plan->grid, 8U);
  EXPECT_EQ(plan->args.split_k, 4);
}

TEST(LaunchPlan, SplitThroughTheWorkspacePutsTheSplitSlow) {
  const auto plan = plan_of("sm90_ws:w2.m128.n128.s6.e1.sp2.sk8", problem_of(500, 512, 16384));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->grid, 16U) << "CTAs that follow each other read the same k range";
  EXPECT_EQ(plan->splits, 8U);
  EXPECT_EQ(plan->cluster, 1U);
  EXPECT_EQ(plan->workspace_bytes, 16 * 8 * 128 * 128 * 4);
  EXPECT_EQ(plan->counters, 16 * 8);
  EXPECT_EQ(plan->args.split_k, 8);
  EXPECT_EQ(plan->args.split_reciprocal, gemmsmith_kernels::reciprocal(8));
  EXPECT_EQ(plan_of("sm90_ws:n64.e1.sp1.sk4", problem_of(64, 128, 4096))->workspace_bytes, 0);
}

// A recipe of a plan table may be asked for another problem than it was made for.
TEST(LaunchPlan, MoreTilesThanCountersAreRefused) {
  const LaunchRecipe recipe =
      make_recipe(config_of("sm90_ws:n8.e1.s2.sp2.sk2"), Signature{}, h200());
  EXPECT_TRUE(make_launch_plan(recipe, problem_of(64, 8 * 1024, 256)));
  const auto plan = make_launch_plan(recipe, problem_of(64, 8 * 1025, 256));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(plan.error().what,
            "64_8200_256 f16/f32 tn has 1025 tiles of 64x8: more than can wait for each other at "
            "once");
}

TEST(LaunchPlan, PersistentGridsStopAtTheDevice) {
  const Problem large = problem_of(8192, 8192, 512);
  EXPECT_EQ(plan_of("sm90_ws:w2.m128.n256.s4.ps1", large)->grid, 132U);
  EXPECT_EQ(plan_of("sm90_ws:w2.m128.n256.s4", large)->grid, 64U * 32);
  EXPECT_EQ(plan_of("sm90_ws:w2.m128.n256.s4.ps1", problem_of(256, 512, 512))->grid, 4U);
}

TEST(LaunchPlan, ArgumentsCarryTheProblem) {
  Problem problem = problem_of(100, 200, 64);
  problem.lda = 72;
  problem.ldc = problem.ldd = 208;
  problem.alpha = 0.5F;
  problem.beta = 2;
  const auto plan = plan_of("sm80_mma:m64.n64.s2.g4.r1", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->args.m, 100);
  EXPECT_EQ(plan->args.lda, 72);
  EXPECT_EQ(plan->args.ldb, 64);
  EXPECT_EQ(plan->args.ldc, 208);
  EXPECT_EQ(plan->args.ldd, 208);
  EXPECT_EQ(plan->args.alpha, 0.5F);
  EXPECT_EQ(plan->args.beta, 2);
  EXPECT_EQ(plan->args.group, 4);
  EXPECT_EQ(plan->args.raster, 1);
  EXPECT_FALSE(plan->has_tensor_maps);
}

// divide() of kernels/parts/tile_order.cuh: the high product, corrected by at most one.
unsigned divided(unsigned dividend, unsigned divisor, unsigned reciprocal) {
  const auto low = static_cast<unsigned>(std::uint64_t{dividend} * reciprocal >> 32);
  return dividend - low * divisor >= divisor ? low + 1 : low;
}

TEST(LaunchPlan, ReciprocalsDivideExactly) {
  for (const unsigned divisor : {1U, 2U, 3U, 7U, 16U, 1000U, 65537U, 0x7fffffffU, 0x80000000U})
    for (const unsigned near : {0U, 1U, divisor, 12345U, 0x7fffffffU})
      for (unsigned dividend = near - (near > 2 ? 2 : near); dividend < near + 3; ++dividend)
        EXPECT_EQ(divided(dividend, divisor, gemmsmith_kernels::reciprocal(divisor)),
                  dividend / divisor)
            << dividend << " / " << divisor;
}

TEST(LaunchPlan, TileOrderKnowsItsBands) {
  // Clusters of 2 x 1: 5 x 7 of them, walked along n in bands of 4 and 3.
  const auto plan = plan_of("sm90_ws:w2.m128.n128.cm2.s3.g4.r1", problem_of(1280, 896, 512));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->args.band_reciprocal, gemmsmith_kernels::reciprocal(4 * 5));
  EXPECT_EQ(plan->args.width_reciprocal, gemmsmith_kernels::reciprocal(4));
  EXPECT_EQ(plan->args.last_width_reciprocal, gemmsmith_kernels::reciprocal(3));
  EXPECT_EQ(plan->args.split_reciprocal, gemmsmith_kernels::reciprocal(1));
  // A band is no wider than there are tiles.
  const auto narrow = plan_of("sm90_ws:n128.r1", problem_of(1280, 256, 512));
  ASSERT_TRUE(narrow) << narrow.error().what;
  EXPECT_EQ(narrow->args.group, 2);
  EXPECT_EQ(narrow->args.last_width_reciprocal, gemmsmith_kernels::reciprocal(2));
}

TEST(LaunchPlan, TensorMapsDescribeTheOperands) {
  Problem problem = problem_of(300, 1000, 520);
  problem.lda = 528;
  const auto plan = plan_of("sm90_ws:w2.m128.n256.cn2.s3", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->map_a.rows, 300);
  EXPECT_EQ(plan->map_a.columns, 520);
  EXPECT_EQ(plan->map_a.ld, 528);
  EXPECT_EQ(plan->map_a.box_rows, 64);
  EXPECT_EQ(plan->map_a.box_columns, 64);
  EXPECT_EQ(plan->map_b.rows, 1000);
  EXPECT_EQ(plan->map_b.box_rows, 256);
  ASSERT_TRUE(plan->stores_by_tma);
  EXPECT_EQ(plan->map_d.rows, 300);
  EXPECT_EQ(plan->map_d.columns, 1000);
  EXPECT_EQ(plan->map_d.box_rows, 64);
}

TEST(LaunchPlan, TensorMapsFollowTheLayout) {
  Problem problem = problem_of(304, 1000, 520);
  problem.layout = Layout::kNT;
  problem.lda = 304;
  problem.ldb = 1008;
  const auto plan = plan_of("sm90_ws:w2.m128.n96.s3", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->map_a.rows, 520) << "lines of k";
  EXPECT_EQ(plan->map_a.columns, 304);
  EXPECT_EQ(plan->map_a.box_rows, 64);
  EXPECT_EQ(plan->map_a.box_columns, 64);
  EXPECT_EQ(plan->map_b.rows, 520);
  EXPECT_EQ(plan->map_b.columns, 1000);
  EXPECT_EQ(plan->map_b.ld, 1008);
  EXPECT_EQ(plan->map_b.box_columns, 32) << "three boxes make 96 columns";
}

TEST(LaunchPlan, ATransposedKernelComputesTheProductFromItsOtherSide) {
  Problem problem = problem_of(72, 1000, 520);
  problem.lda = 528;
  problem.ldb = 536;
  problem.ldd = 1008;
  problem.ldc = 1016;
  problem.alignment.a = 16;
  problem.alignment.b = 32;
  const auto plan = plan_of("sm90_ws:t1.w2.m128.n80.s3", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->transposed);
  EXPECT_EQ(std::tuple(plan->args.m, plan->args.n, plan->args.k), std::tuple(1000, 72, 520));
  EXPECT_EQ(std::tuple(plan->args.tiles_m, plan->args.tiles_n, plan->grid), std::tuple(8, 1, 8U));
  EXPECT_EQ(std::tuple(plan->args.lda, plan->args.ldb), std::tuple(536, 528));
  EXPECT_EQ(std::tuple(plan->args.ldc, plan->args.ldd), std::tuple(1016, 1008)) << "as they lie";
  EXPECT_EQ(std::tuple(plan->map_a.rows, plan->map_a.columns, plan->map_a.ld),
            std::tuple(1000, 520, 536));
  EXPECT_EQ(std::tuple(plan->map_b.rows, plan->map_b.ld, plan->map_b.box_rows),
            std::tuple(72, 528, 80));
  EXPECT_EQ(std::tuple(plan->map_d.rows, plan->map_d.columns, plan->map_d.ld),
            std::tuple(72, 1000, 1008));
  EXPECT_EQ(std::tuple(plan->map_d.box_rows, plan->map_d.box_columns), std::tuple(16, 64))
      << "five boxes make 80 rows of D";
}

TEST(LaunchPlan, ATransposedKernelNeedsOfEachOperandWhatItsOwnNeeds) {
  Problem problem = problem_of(72, 1000, 500);
  problem.ldb = 501;  // our B is the kernel's A, which is packed
  problem.alignment.b = 2;
  problem.lda = 504;
  const auto plan = plan_of("sm90_ws:t1.w2.m128.n80.s3.pk1", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->packing.packs_a);
  EXPECT_FALSE(plan->packing.packs_b);
  EXPECT_EQ(std::tuple(plan->needs.a, plan->needs.b), std::tuple(16, 2));
  const auto other = plan_of("sm90_ws:t1.w2.m128.n80.s3.pk2", problem);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("unreadable_operands_are_packed"), std::string::npos);
  const LaunchRecipe recipe =
      make_recipe(config_of("sm90_ws:t1.w2.m128.n80.s3"), Signature{}, h200());
  EXPECT_EQ(
      make_launch_plan(recipe, problem).error().what,
      "the kernel cannot launch on 72_1000_500 f16/f32 tn lda=504 ldb=501 align=256,2,256,256: "
      "ldb 501 is not a multiple of 8 elements");
}

TEST(LaunchPlan, IllegalConfigsNameTheRule) {
  const auto plan = plan_of("sm90_ws:m64.n64.s12", problem_of(64, 64, 64));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(plan.error().what,
            "sm90_ws:s12 is not legal for 64_64_64 f16/f32 tn on NVIDIA H200: stages_have_k_tiles "
            "(more stages than k tiles to fill them)");
}

TEST(LaunchPlan, ARecipeRefusesStridesItCannotLoad) {
  const LaunchRecipe recipe = make_recipe(config_of("sm90_ws:s2"), Signature{}, h200());
  Problem problem = problem_of(64, 64, 64);
  EXPECT_TRUE(make_launch_plan(recipe, problem));
  problem.lda = 65;
  EXPECT_EQ(make_launch_plan(recipe, problem).error().what,
            "the kernel cannot launch on 64_64_64 f16/f32 tn lda=65: lda 65 is not a multiple of 8 "
            "elements");
  problem = problem_of(64, 64, 64);
  problem.ldd = 68;
  EXPECT_FALSE(make_launch_plan(recipe, problem)) << "TMA stores";
  problem = problem_of(64, 60, 64);
  problem.ldc = problem.ldd = 64;
  EXPECT_FALSE(make_launch_plan(recipe, problem)) << "a TMA store would write the padding";
}

TEST(LaunchPlan, NothingToComputeIsNoLaunch) {
  const LaunchRecipe recipe = make_recipe(config_of("sm80_mma"), Signature{}, h200());
  for (const Problem& problem :
       {problem_of(0, 64, 64), problem_of(64, 0, 64), problem_of(64, 64, 0)})
    EXPECT_EQ(make_launch_plan(recipe, problem).error().code, ErrorCode::kUnsupported);
}

TEST(LaunchPlan, MoreTilesThanAGridCountsAreRefused) {
  const Problem huge = problem_of(2147483647, 2147483647, 64);
  const auto plan = plan_of("sm80_mma:m128.n128.wm2.wn2.s2", huge);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().what.find("more than a grid can count"), std::string::npos);
}

TEST(LaunchPlan, BatchesMultiplyTheTiles) {
  const auto plan = plan_of("sm90_ws:w2.m128.n128.cm2.s2", test::batch_of(300, 200, 128, 7));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->grid, 2U * 2 * 2 * 7) << "clusters of 2 x 1, two by two a matrix";
  EXPECT_EQ(plan->args.batch, 7);
  EXPECT_EQ(plan->args.matrix_reciprocal, gemmsmith_kernels::reciprocal(4));
  EXPECT_EQ(plan->args.stride_a, 300 * 128);
  EXPECT_EQ(plan->args.stride_d, 300 * 200);
  EXPECT_EQ(plan_of("sm90_ws:s2.ps1", test::batch_of(64, 64, 64, 70000))->grid, 132U * 5);
  EXPECT_EQ(plan_of("sm80_mma:s2", test::batch_of(64, 64, 64, 70000))->grid, 70000U)
      << "more than a grid's z can count";
}

TEST(LaunchPlan, BatchesSplitThroughTheWorkspaceTogether) {
  const auto plan = plan_of("sm90_ws:s4.e1.sp2.sk4", test::batch_of(64, 64, 4096, 5));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->grid, 5U);
  EXPECT_EQ(plan->counters, 5 * 4);
  EXPECT_EQ(plan->workspace_bytes, 5 * 4 * 64 * 64 * 4);
  EXPECT_EQ(plan_of("sm90_ws:s4.e1.sp2.sk4", test::batch_of(64, 64, 4096, 500)).error().what,
            "sm90_ws:e1.sp2.sk4 is not legal for 64_64_4096x500 f16/f32 tn on NVIDIA H200: "
            "split_ctas_fit_at_once (CTAs that wait for each other's partial sums must all be on "
            "the device at once)");
}

TEST(LaunchPlan, WithoutABatchThereAreNoStrides) {
  const auto plan = plan_of("sm90_ws:s2", problem_of(64, 64, 64));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->args.batch, 1);
  EXPECT_EQ(plan->args.stride_a, 0);
  EXPECT_EQ(plan->args.stride_d, 0);
  EXPECT_EQ(plan->map_a.matrices, 0);
}

TEST(LaunchPlan, StridesThatLoadsCannotTakeAreRefused) {
  Problem problem = test::batch_of(64, 64, 64, 3);
  problem.stride_b += 4;
  const LaunchRecipe recipe = make_recipe(config_of("sm90_ws:s2"), signature_of(problem), h200());
  const auto refused = make_launch_plan(recipe, problem);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "the kernel cannot launch on 64_64_64x3 f16/f32 tn stride_b=4100: stride_b 4100 is not "
            "a multiple of 8 elements");
  EXPECT_EQ(plan_of("sm90_ws:s2", problem).error().what,
            "sm90_ws:s2 is not legal for 64_64_64x3 f16/f32 tn stride_b=4100 on NVIDIA H200: "
            "unreadable_operands_are_packed (TMA needs 16-byte aligned A and B and lda, ldb that "
            "are multiples of 8 elements: others are packed)");
  EXPECT_EQ(
      plan_of("sm90_ws:s2.pk2", problem).error().what,
      "sm90_ws:s2.pk2 is not legal for 64_64_64x3 f16/f32 tn stride_b=4100 on NVIDIA H200: "
      "packing_takes_single_matrices (the operands of a batch, or of groups, are not packed)");
  EXPECT_TRUE(plan_of("sm80_mma:s2.l1", problem)) << "elements are read one by one";
}

TEST(LaunchPlan, MoreTilesOfABatchThanAGridCountsAreRefused) {
  const auto plan = plan_of("sm80_mma:m16.n16.wm1.wn1.s2", test::batch_of(4096, 4096, 64, 1 << 20));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().what,
            "4096_4096_64x1048576 f16/f32 tn has 1048576 times 65536 tiles of 16x16: more than a "
            "grid can count");
}

Problem groups_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups) {
  Problem problem = problem_of(m, n, k);
  problem.batch = groups;
  problem.grouped = true;
  return *make_problem(problem);
}

TEST(LaunchPlan, GroupsHaveAGridForTheMostTiles) {
  const auto few = plan_of("sm90_ws:n64.s4.e1.ps1", groups_of(100, 128, 256, 8));
  ASSERT_TRUE(few) << few.error().what;
  EXPECT_TRUE(few->grouped);
  EXPECT_EQ(few->grid, (2U + 8) * 2) << "each group may leave a tile that is not full";
  EXPECT_EQ(few->args.batch, 8);
  EXPECT_EQ(few->args.stride_b, 128 * 256);
  EXPECT_EQ(few->map_a.matrices, 0);
  EXPECT_EQ(few->map_b.matrices, 8);
  EXPECT_EQ(plan_of("sm90_ws:n64.s4.e1.ps1", groups_of(3, 128, 256, 8))->grid, (1U + 3) * 2);
  EXPECT_EQ(plan_of("sm90_ws:n64.s2.e1.ps1", groups_of(3, 128, 256, 1))->map_b.matrices, 1)
      << "the kernel has a map of three dimensions all the same";
}

class Launching : public testing::Test {
 protected:
  void SetUp() override {
    const auto opened = open_driver(GEMMSMITH_FAKE_DRIVER);
    ASSERT_TRUE(opened) << opened.error().what;
    driver_ = *opened;
    CUcontext context = nullptr;
    driver_.DevicePrimaryCtxRetain(&context, 0);
    driver_.CtxSetCurrent(context);
  }

  CUfunction function_of(const char* cubin) {
    module_ = *Module::load(driver_, cubin, "test");
    return *module_.function("gemm");
  }

  static FakeLaunch last_launch() {
    void* library = dlopen(GEMMSMITH_FAKE_DRIVER, RTLD_NOW);
    const auto ask =
        reinterpret_cast<void (*)(FakeLaunch*)>(dlsym(library, "fake_cuda_last_launch"));
    FakeLaunch launch = {};
    ask(&launch);
    return launch;
  }

  // Operands that any plan's loads accept.
  struct alignas(16) Buffer {
    std::array<std::uint16_t, 64 * 64> elements = {};
  };

  Driver driver_;
  Module module_;
  Buffer a_, b_, c_, d_;
};

TEST_F(Launching, BindEncodesTheMapsOfThePlan) {
  const auto plan = plan_of("sm90_ws:n32.s2", problem_of(64, 64, 64));
  ASSERT_TRUE(plan) << plan.error().what;
  const auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  ASSERT_TRUE(bound) << bound.error().what;
  FakeTensorMap a = {};
  FakeTensorMap d = {};
  std::memcpy(&a, &bound->map_a, sizeof a);
  std::memcpy(&d, &bound->map_d, sizeof d);
  EXPECT_EQ(a.address, &a_);
  EXPECT_EQ(a.columns, 64U);
  EXPECT_EQ(a.stride_bytes, 128U);
  EXPECT_EQ(a.box_rows, 64U);
  EXPECT_EQ(a.swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_EQ(d.address, &d_);
  EXPECT_EQ(d.box_columns, 32U);
  EXPECT_EQ(d.swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_64B));
  EXPECT_EQ(d.data_type, static_cast<std::uint32_t>(CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
  EXPECT_EQ(bound->args.a, &a_);
  EXPECT_EQ(bound->args.d, &d_);
}

TEST_F(Launching, ATransposedKernelIsGivenTheOperandsExchanged) {
  const auto plan = plan_of("sm90_ws:t1.n32.s2", problem_of(32, 64, 64));
  ASSERT_TRUE(plan) << plan.error().what;
  const auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  ASSERT_TRUE(bound) << bound.error().what;
  FakeTensorMap map_a = {};
  FakeTensorMap map_b = {};
  std::memcpy(&map_a, &bound->map_a, sizeof map_a);
  std::memcpy(&map_b, &bound->map_b, sizeof map_b);
  EXPECT_EQ(map_a.address, &b_);
  EXPECT_EQ(map_b.address, &a_);
  EXPECT_EQ(bound->args.a, &b_);
  EXPECT_EQ(bound->args.b, &a_);
  EXPECT_EQ(bound->args.d, &d_);
  const auto misaligned = bind(driver_, *plan, {&a_.elements[1], &b_, nullptr, &d_});
  ASSERT_FALSE(misaligned);
  EXPECT_EQ(misaligned.error().what.rfind("A = ", 0), 0U) << "the caller's name for it";
}

TEST_F(Launching, BatchesHaveMapsOfThreeDimensions) {
  Problem problem = test::batch_of(8, 16, 64, 3);
  problem.stride_b = 0;
  problem.ldd = 48;
  problem.stride_d = 16;  // interleaved: nearer than a row
  const auto plan = plan_of("sm90_ws:n16.s2", *make_problem(problem));
  ASSERT_TRUE(plan) << plan.error().what;
  const auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  ASSERT_TRUE(bound) << bound.error().what;
  FakeTensorMap a = {};
  FakeTensorMap b = {};
  FakeTensorMap d = {};
  std::memcpy(&a, &bound->map_a, sizeof a);
  std::memcpy(&b, &bound->map_b, sizeof b);
  std::memcpy(&d, &bound->map_d, sizeof d);
  EXPECT_EQ(a.dimensions, 3U);
  EXPECT_EQ(a.matrices, 3U);
  EXPECT_EQ(a.matrix_stride_bytes, 8U * 64 * 2);
  EXPECT_EQ(b.dimensions, 3U);
  EXPECT_EQ(b.matrices, 1U) << "one for all";
  EXPECT_EQ(d.matrices, 3U);
  EXPECT_EQ(d.matrix_stride_bytes, 32U);
  EXPECT_EQ(d.stride_bytes, 96U);
  const auto single = plan_of("sm90_ws:n16.s2", problem_of(8, 16, 64));
  const auto plain = bind(driver_, *single, {&a_, &b_, nullptr, &d_});
  ASSERT_TRUE(plain) << plain.error().what;
  std::memcpy(&a, &plain->map_a, sizeof a);
  EXPECT_EQ(a.dimensions, 2U);
}

TEST_F(Launching, GroupsNeedTheirEnds) {
  const auto plan = plan_of("sm90_ws:n16.s2.e1.ps1", groups_of(8, 16, 64, 2));
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(bind(driver_, *plan, {&a_, &b_, nullptr, &d_}).error().what,
            "group_ends is a null pointer");
  const std::int32_t ends[] = {3, 8};
  const auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_, ends});
  ASSERT_TRUE(bound) << bound.error().what;
  EXPECT_EQ(bound->args.group_ends, ends);
}

TEST_F(Launching, BindNamesTheOperandThatIsNullOrMisaligned) {
  const auto plan = plan_of("sm80_mma:s2", problem_of(64, 64, 64));
  ASSERT_TRUE(plan);
  EXPECT_EQ(bind(driver_, *plan, {nullptr, &b_, nullptr, &d_}).error().what, "A is a null pointer");
  EXPECT_EQ(bind(driver_, *plan, {&a_, &b_, nullptr, nullptr}).error().what, "D is a null pointer");
  const void* odd = b_.elements.data() + 1;
  const auto bound = bind(driver_, *plan, {&a_, odd, nullptr, &d_});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(bound.error().what,
            fmt::format("B = {} is not a multiple of 16 bytes, which this kernel's loads or stores "
                        "need",
                        odd));
  EXPECT_TRUE(bind(driver_, *plan, {&a_, &b_, nullptr, d_.elements.data() + 1}))
      << "ordinary stores take any element";
}

TEST_F(Launching, CIsNeededOnlyWhereItIsRead) {
  Problem problem = problem_of(64, 64, 64);
  EXPECT_TRUE(bind(driver_, *plan_of("sm80_mma:s2", problem), {&a_, &b_, nullptr, &d_}));
  problem.beta = 1;
  EXPECT_EQ(bind(driver_, *plan_of("sm80_mma:s2", problem), {&a_, &b_, nullptr, &d_}).error().what,
            "C is a null pointer");
}

TEST_F(Launching, FailedEncodingsAreNamed) {
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled=1");
  const auto plan = plan_of("sm90_ws:s2", problem_of(64, 64, 64));
  EXPECT_EQ(bind(driver_, *plan, {&a_, &b_, nullptr, &d_}).error().what,
            "cannot encode the tensor map of A (64 x 64, ld 64, box 64 x 64): "
            "CUDA_ERROR_INVALID_VALUE: as the test planned");
}

TEST_F(Launching, LaunchesWithClusterAndProgrammaticAttributes) {
  auto plan = plan_of("sm90_ws:n32.cn2.s2", problem_of(64, 64, 64));
  ASSERT_TRUE(plan) << plan.error().what;
  auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  const std::int64_t before = last_launch().count;
  const CUfunction function = function_of("fake sm90_ws");
  ASSERT_TRUE(prepare(driver_, *plan, function));
  ASSERT_EQ(launch(driver_, *plan, *bound, {function, nullptr}, nullptr), CUDA_SUCCESS);
  const FakeLaunch launched = last_launch();
  EXPECT_EQ(launched.count, before + 1);
  EXPECT_EQ(launched.grid, 2U);
  EXPECT_EQ(launched.cluster, 2U);
  EXPECT_EQ(launched.block, plan->block);
  EXPECT_EQ(launched.shared_bytes, plan->shared_bytes);
  EXPECT_EQ(launched.programmatic, 1);
  EXPECT_EQ(launched.parameters, 4);
}

TEST_F(Launching, CtasThatMeetAreLaunchedCooperatively) {
  auto plan = plan_of("sm90_ws:n32.e1.sp2.sk2.s2", problem_of(64, 64, 256));
  ASSERT_TRUE(plan) << plan.error().what;
  auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  const CUfunction function = function_of("fake sm90_ws");
  ASSERT_TRUE(prepare(driver_, *plan, function));
  EXPECT_EQ(launch(driver_, *plan, *bound, {function, nullptr}, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "no scratch";
  std::array<unsigned, 8> counters = {};
  ASSERT_TRUE(use_scratch(driver_, *plan, *bound, {&c_, counters.data()}));
  ASSERT_EQ(launch(driver_, *plan, *bound, {function, nullptr}, nullptr), CUDA_SUCCESS);
  const FakeLaunch launched = last_launch();
  EXPECT_EQ(launched.grid, 2U);
  EXPECT_EQ(launched.splits, 2U);
  EXPECT_EQ(launched.cluster, 1U);
  EXPECT_EQ(launched.cooperative, 1);
  EXPECT_EQ(launched.programmatic, 1);
}

// The space cannot know how many registers a kernel takes; the driver does.
TEST_F(Launching, CtasThatMeetMustFitAtOnce) {
  auto plan = plan_of("sm90_ws:e1.sp2.sk4", problem_of(512, 512, 16384));
  ASSERT_TRUE(plan) << plan.error().what;
  const auto prepared = prepare(driver_, *plan, function_of("fake sm90_ws"));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::kDevice);
  EXPECT_EQ(prepared.error().what,
            "256 blocks that wait for each other do not fit the device at once: it holds 132");
}

TEST_F(Launching, PlainLaunchesHaveNoAttributes) {
  const auto plan = plan_of("sm80_mma:s2.d0", problem_of(64, 64, 64));
  auto bound = bind(driver_, *plan, {&a_, &b_, nullptr, &d_});
  ASSERT_EQ(launch(driver_, *plan, *bound, {function_of("fake sm80_mma"), nullptr}, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(last_launch().cluster, 1U);
  EXPECT_EQ(last_launch().programmatic, 0);
  EXPECT_EQ(last_launch().cooperative, 0);
  EXPECT_EQ(last_launch().parameters, 1);
}

TEST_F(Launching, TheArgumentsReachTheKernel) {
  constexpr std::uint16_t kOne = 0x3c00;   // f16 1
  constexpr std::uint16_t kTwo = 0x4000;   // f16 2
  constexpr std::uint16_t kHalf = 0x3800;  // f16 0.5
  Problem problem = problem_of(3, 5, 8);
  problem.beta = 1;
  a_.elements.fill(kOne);
  b_.elements.fill(kTwo);
  c_.elements.fill(kHalf);
  for (const char* family : {"sm80_mma", "sm90_ws"}) {
    const bool sm90 = std::strcmp(family, "sm90_ws") == 0;
    const auto plan = plan_of(sm90 ? "sm90_ws:n8.s2.e1" : "sm80_mma:m16.n16.wm1.wn1.s2", problem);
    ASSERT_TRUE(plan) << plan.error().what;
    d_.elements.fill(0);
    auto bound = bind(driver_, *plan, {&a_, &b_, &c_, &d_});
    ASSERT_TRUE(bound) << bound.error().what;
    ASSERT_EQ(launch(driver_, *plan, *bound,
                     {function_of(sm90 ? "fake sm90_ws" : "fake sm80_mma"), nullptr}, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(d_.elements[0], 0x4c20) << family << ": 8 * 2 + 0.5";
    EXPECT_EQ(d_.elements[14], 0x4c20) << family;
    EXPECT_EQ(d_.elements[15], 0) << family;
  }
}

TEST_F(Launching, PrepareLowersAPersistentGridToWhatIsResident) {
  const Problem large = problem_of(8192, 8192, 512);
  const CUfunction function = function_of("fake sm90_ws");
  auto plan = plan_of("sm90_ws:w2.m128.n256.s4.cm2.ps1", large);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->grid, 132U);
  const ScopedEnvironment clusters("FAKE_CUDA_RESIDENT_CLUSTERS", "60");
  ASSERT_TRUE(prepare(driver_, *plan, function));
  EXPECT_EQ(plan->grid, 120U);

  auto single = plan_of("sm80_mma:s3.ps1", large);
  ASSERT_TRUE(single);
  const ScopedEnvironment blocks("FAKE_CUDA_BLOCKS_PER_SM", "2");
  ASSERT_TRUE(prepare(driver_, *single, function));
  EXPECT_EQ(single->grid, 264U);
}

// Plans that differ in split_k share a kernel; preparing the smaller must not starve the larger.
TEST_F(Launching, PreparingASmallerPlanLeavesALargerOneLaunchable) {
  const Problem problem = problem_of(64, 64, 4096);
  const CUfunction function = function_of("fake sm90_ws");
  // 8 groups of columns: 3 ranks hold room for 9, 8 ranks for 8.
  auto large = plan_of("sm90_ws:n64.k128.e1.sp1.sk3", problem);
  auto small = plan_of("sm90_ws:n64.k128.e1.sp1.sk8", problem);
  ASSERT_TRUE(large) << large.error().what;
  ASSERT_TRUE(small) << small.error().what;
  ASSERT_GT(large->shared_bytes, small->shared_bytes);
  for (auto* plan : {&*large, &*small, &*large, &*small})
    ASSERT_TRUE(prepare(driver_, *plan, function));
  std::vector<std::uint16_t> a(64 * 4096);
  std::vector<std::uint16_t> b(64 * 4096);
  for (auto* plan : {&*large, &*small}) {
    auto bound = bind(driver_, *plan, {a.data(), b.data(), nullptr, &d_});
    ASSERT_TRUE(bound) << bound.error().what;
    EXPECT_EQ(launch(driver_, *plan, *bound, {function, nullptr}, nullptr), CUDA_SUCCESS);
  }
}

TEST_F(Launching, PrepareRefusesAKernelThatDoesNotFit) {
  auto plan = plan_of("sm90_ws:w2.m128.n256.s4.cm2.ps1", problem_of(8192, 8192, 512));
  const ScopedEnvironment clusters("FAKE_CUDA_RESIDENT_CLUSTERS", "0");
  EXPECT_EQ(prepare(driver_, *plan, function_of("fake sm90_ws")).error().what,
            fmt::format("a cluster of 2 blocks with {} bytes of shared memory each does not fit "
                        "the device",
                        plan->shared_bytes));
}

TEST_F(Launching, PrepareReportsWhatTheDriverRefuses) {
  auto plan = plan_of("sm90_ws:w2.m128.n128", problem_of(4096, 4096, 4096));
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuFuncSetAttribute=1");
  EXPECT_EQ(prepare(driver_, *plan, function_of("fake sm90_ws")).error().what,
            "raising a kernel's shared memory limit failed: CUDA_ERROR_INVALID_VALUE: as the test "
            "planned");
}

}  // namespace
}  // namespace gemmsmith::plan
