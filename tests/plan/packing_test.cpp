// Plans whose operands are packed: where the copies lie, what reads them, and both launches on the
// fake driver, whose kernels really copy and multiply.
#include "plan/packing.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "device/cuda.h"
#include "device/fake_driver.h"
#include "device/scoped_environment.h"
#include "plan/launch_plan.h"
#include "plan/plan_fixtures.h"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

using test::config_of;
using test::h200;
using test::problem_of;
using test::ScopedEnvironment;

constexpr Layout kLayouts[] = {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT};

Problem odd_problem(Layout layout) {
  Problem problem;
  problem.m = 65;
  problem.n = 71;
  problem.k = 133;
  problem.layout = layout;
  problem = *make_problem(problem);
  problem.alignment.a = problem.alignment.b = 2;
  return problem;
}

Result<LaunchPlan> plan_of(const char* config, const Problem& problem) {
  return make_launch_plan(config_of(config), problem, h200());
}

RC_GTEST_PROP(Packing, CopiesAndPartialSumsNeverOverlap, ()) {
  Problem problem;
  problem.m = *rc::gen::inRange<std::int64_t>(1, 400);
  problem.n = *rc::gen::inRange<std::int64_t>(1, 400);
  problem.k = *rc::gen::inRange<std::int64_t>(128, 600);
  problem.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
  problem = *make_problem(problem);
  problem.alignment.a = problem.alignment.b = 2;
  const int pack = *rc::gen::inRange(1, 4);
  const bool splits = *rc::gen::arbitrary<bool>();
  // The recipe alone: operands that are not packed are made readable.
  if ((pack & kPackA) == 0) problem.lda = problem.lda / 8 * 8 + 8;
  if ((pack & kPackB) == 0) problem.ldb = problem.ldb / 8 * 8 + 8;
  Config config = config_of(splits ? "sm90_ws:n24.e1.s2.sp2.sk2" : "sm90_ws:n24.e1.s2");
  config.set("pack", pack);
  const LaunchRecipe recipe = make_recipe(config, signature_of(problem), h200());
  const auto plan = make_launch_plan(recipe, problem);
  RC_ASSERT(plan.has_value());

  std::int64_t end = 0;  // of what lies below
  if (splits) end = plan->args.tiles_m * plan->args.tiles_n * 2 * 64 * 24 * 4;
  const Packing& packing = plan->packing;
  RC_ASSERT(packing.packs_a == ((pack & kPackA) != 0));
  RC_ASSERT(packing.packs_b == ((pack & kPackB) != 0));
  const auto follows = [&](std::int64_t at, const MatrixShape& operand) {
    RC_ASSERT(at >= end);
    RC_ASSERT(at % 128 == 0);
    RC_ASSERT(at - end < 128);
    end = at + packed(operand).rows * packed(operand).ld * 2;
  };
  if (packing.packs_a) follows(packing.at_a, stored_a(problem));
  if (packing.packs_b) follows(packing.at_b, stored_b(problem));
  RC_ASSERT(plan->workspace_bytes == end);
}

// Every chunk of every line once, whatever the sizes; the last of a line ends within the copy's.
RC_GTEST_PROP(Packing, ChunksCoverTheOperand, ()) {
  Problem problem;
  problem.m = *rc::gen::inRange<std::int64_t>(1, 5000);
  problem.n = *rc::gen::inRange<std::int64_t>(1, 5000);
  problem.k = *rc::gen::inRange<std::int64_t>(1, 5000);
  problem = *make_problem(problem);
  const Packing packing = make_packing(kPackA | kPackB, problem, 0);
  RC_ASSERT(packing.operands == 2U);
  RC_ASSERT(packing.grid >= 1U);
  const MatrixShape shapes[] = {stored_a(problem), stored_b(problem)};
  for (int i = 0; i < 2; ++i) {
    const gemmsmith_kernels::PackOperand& args = packing.args.operands[i];
    RC_ASSERT(args.columns == shapes[i].cols);
    RC_ASSERT(args.ld_from == shapes[i].ld);
    RC_ASSERT(args.ld_to == packed(shapes[i]).ld);
    RC_ASSERT(std::int64_t{args.chunks_per_line} * 8 >= shapes[i].cols);
    RC_ASSERT(std::int64_t{args.chunks_per_line} * 8 < shapes[i].cols + 8);
    RC_ASSERT(std::int64_t{args.chunks_per_line} * 8 <= args.ld_to);
    RC_ASSERT(args.chunks == args.chunks_per_line * shapes[i].rows);
  }
}

TEST(Packing, MapsAndArgumentsDescribeTheCopiesInEveryLayout) {
  for (const Layout layout : kLayouts) {
    const Problem problem = odd_problem(layout);
    const auto plan = plan_of("sm90_ws:s2.e1.pk3", problem);
    ASSERT_TRUE(plan) << plan.error().what;
    const MatrixShape a = stored_a(problem);
    const MatrixShape b = stored_b(problem);
    EXPECT_EQ(plan->map_a.rows, a.rows) << name(layout);
    EXPECT_EQ(plan->map_a.columns, a.cols) << name(layout) << ": without the copy's padding";
    EXPECT_EQ(plan->map_a.ld, packed(a).ld) << name(layout);
    EXPECT_EQ(plan->map_b.rows, b.rows) << name(layout);
    EXPECT_EQ(plan->map_b.columns, b.cols) << name(layout);
    EXPECT_EQ(plan->map_b.ld, packed(b).ld) << name(layout);
    EXPECT_EQ(plan->args.lda, packed(a).ld) << name(layout);
    EXPECT_EQ(plan->args.ldb, packed(b).ld) << name(layout);
    EXPECT_EQ(plan->args.ldd, 71) << name(layout);
    EXPECT_EQ(plan->needs.a, 2) << "packing takes any element";
    EXPECT_EQ(plan->needs.b, 2);
    EXPECT_EQ(plan->workspace_bytes, packed_bytes(problem, kPackA | kPackB)) << name(layout);
    EXPECT_EQ(plan->counters, 0) << "nobody meets";
  }
}

TEST(Packing, TheOtherOperandIsReadWhereItIs) {
  Problem problem = problem_of(64, 72, 136);
  problem.lda = 137;
  const auto plan = plan_of("sm90_ws:s2.e1.pk1", problem);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->args.lda, 192);
  EXPECT_EQ(plan->args.ldb, 136);
  EXPECT_EQ(plan->map_b.ld, 136);
  EXPECT_EQ(plan->needs.a, 2);
  EXPECT_EQ(plan->needs.b, 16);
  EXPECT_EQ(plan->packing.operands, 1U);
  EXPECT_EQ(plan->workspace_bytes, 64 * 192 * 2);
}

// A recipe of a plan table may be asked for another problem than it was made for.
TEST(Packing, MoreThanALaunchCanPackIsRefused) {
  const LaunchRecipe recipe = make_recipe(config_of("sm90_ws:s2.e1.pk1"), Signature{}, h200());
  EXPECT_TRUE(make_launch_plan(recipe, problem_of(131071, 64, 8192)));
  const auto plan = make_launch_plan(recipe, problem_of(131072, 64, 8192));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(plan.error().what,
            "131072_64_8192 f16/f32 tn takes 2147483648 bytes of workspace for packed operands: "
            "more than a launch can pack");
}

// A product in layout TN of small whole numbers, on the fake driver; every operand starts at an odd
// element and lies among NaNs.
class PackedLaunching : public testing::Test {
 protected:
  void SetUp() override {
    const auto opened = open_driver(GEMMSMITH_FAKE_DRIVER);
    ASSERT_TRUE(opened) << opened.error().what;
    driver_ = *opened;
    CUcontext context = nullptr;
    driver_.DevicePrimaryCtxRetain(&context, 0);
    driver_.CtxSetCurrent(context);
    a_.assign(1 + 65 * 133 + 1, kNan);
    b_.assign(1 + 71 * 133 + 1, kNan);
    d_.assign(65 * 71, kNan);
    for (std::size_t i = 1; i + 1 < a_.size(); ++i) a_[i] = kNumbers[i * 7 % 5];
    for (std::size_t i = 1; i + 1 < b_.size(); ++i) b_[i] = kNumbers[i * 11 % 5];
  }

  Operands operands() { return {a_.data() + 1, b_.data() + 1, nullptr, d_.data()}; }

  Functions functions(const char* gemm) {
    gemm_ = *Module::load(driver_, gemm, "test");
    pack_ = *Module::load(driver_, "fake pack", "test");
    return {*gemm_.function("gemm"), *pack_.function("pack")};
  }

  // Filled with NaN, so that what is read without having been packed shows.
  void* workspace(const LaunchPlan& plan) {
    const std::size_t bytes = static_cast<std::size_t>(plan.workspace_bytes);
    memory_.push_back(std::make_unique<std::uint16_t[]>(bytes / 2 + 64));
    std::uint16_t* start = memory_.back().get();
    std::fill(start, start + bytes / 2 + 64, kNan);
    return start + (128 - reinterpret_cast<std::uintptr_t>(start) % 128) % 128 / 2;
  }

  // Elements of D that are not what they should be.
  int wrong() const {
    int wrong = 0;
    for (std::size_t i = 0; i < 65; ++i)
      for (std::size_t j = 0; j < 71; ++j) {
        int sum = 0;
        for (std::size_t k = 0; k < 133; ++k)
          sum += whole(a_[1 + i * 133 + k]) * whole(b_[1 + j * 133 + k]);
        if (whole(d_[i * 71 + j]) != sum) ++wrong;
      }
    return wrong;
  }

  static int whole(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    if (exponent == 31) return 1 << 20;
    if (exponent == 0) return 0;
    const int magnitude = (1024 + (bits & 1023)) * 1024 >> (35 - exponent);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }

  FakeLaunch ask(const char* function) {
    void* library = dlopen(GEMMSMITH_FAKE_DRIVER, RTLD_NOW);
    FakeLaunch launch = {};
    reinterpret_cast<void (*)(FakeLaunch*)>(dlsym(library, function))(&launch);
    return launch;
  }
  FakeLaunch last_gemm() { return ask("fake_cuda_last_launch"); }
  FakeLaunch last_pack() { return ask("fake_cuda_last_pack"); }

  static constexpr std::uint16_t kNan = 0x7fff;
  static constexpr std::uint16_t kNumbers[5] = {0x0000, 0x3c00, 0x4000, 0xbc00,
                                                0xc000};  // 0 1 2 -1 -2

  Driver driver_;
  Module gemm_, pack_;
  std::vector<std::uint16_t> a_, b_, d_;
  std::vector<std::unique_ptr<std::uint16_t[]>> memory_;
};

TEST_F(PackedLaunching, TheKernelMultipliesTheCopies) {
  const Problem problem = odd_problem(Layout::kTN);
  for (const bool sm90 : {true, false}) {
    const auto plan = plan_of(sm90 ? "sm90_ws:s2.e1.pk3" : "sm80_mma:s2.pk3", problem);
    ASSERT_TRUE(plan) << plan.error().what;
    auto bound = bind(driver_, *plan, operands());
    ASSERT_TRUE(bound) << bound.error().what;
    ASSERT_TRUE(use_scratch(driver_, *plan, *bound, {workspace(*plan), nullptr}));
    std::fill(d_.begin(), d_.end(), kNan);
    const Functions kernels = functions(sm90 ? "fake sm90_ws" : "fake sm80_mma");
    ASSERT_EQ(launch(driver_, *plan, *bound, kernels, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(wrong(), 0) << sm90;
  }
}

TEST_F(PackedLaunching, PackingComesFirstAndIsProgrammaticWhereTheKernelIs) {
  const Problem problem = odd_problem(Layout::kTN);
  for (const bool programmatic : {true, false}) {
    const auto plan = plan_of(programmatic ? "sm90_ws:s2.e1.pk3" : "sm90_ws:s2.e1.pk3.d0", problem);
    ASSERT_TRUE(plan) << plan.error().what;
    auto bound = bind(driver_, *plan, operands());
    ASSERT_TRUE(use_scratch(driver_, *plan, *bound, {workspace(*plan), nullptr}));
    const std::int64_t before = std::max(last_gemm().count, last_pack().count);
    ASSERT_EQ(launch(driver_, *plan, *bound, functions("fake sm90_ws"), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(last_pack().count, before + 1);
    EXPECT_EQ(last_gemm().count, before + 2);
    EXPECT_EQ(last_pack().programmatic, programmatic ? 1 : 0);
    EXPECT_EQ(last_gemm().programmatic, programmatic ? 1 : 0);
    EXPECT_EQ(last_pack().splits, 2U) << "one operand a y";
    EXPECT_EQ(last_pack().block, 256U);
    EXPECT_EQ(last_pack().cooperative, 0);
    EXPECT_EQ(last_pack().cluster, 1U);
  }
}

TEST_F(PackedLaunching, WithoutScratchOrTheKernelThatPacksNothingIsLaunched) {
  const auto plan = plan_of("sm90_ws:s2.e1.pk3", odd_problem(Layout::kTN));
  ASSERT_TRUE(plan) << plan.error().what;
  auto bound = bind(driver_, *plan, operands());
  const Functions kernels = functions("fake sm90_ws");
  const std::int64_t before = std::max(last_gemm().count, last_pack().count);
  EXPECT_EQ(launch(driver_, *plan, *bound, kernels, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_TRUE(use_scratch(driver_, *plan, *bound, {workspace(*plan), nullptr}));
  EXPECT_EQ(launch(driver_, *plan, *bound, {kernels.gemm, nullptr}, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(std::max(last_gemm().count, last_pack().count), before);
  EXPECT_EQ(launch(driver_, *plan, *bound, kernels, nullptr), CUDA_SUCCESS);
}

TEST_F(PackedLaunching, AnotherWorkspaceHasNewMapsAndTheSameOneCostsNothing) {
  const auto plan = plan_of("sm90_ws:s2.e1.pk3", odd_problem(Layout::kTN));
  ASSERT_TRUE(plan) << plan.error().what;
  auto bound = bind(driver_, *plan, operands());
  ASSERT_TRUE(bound) << bound.error().what;
  const auto copy_of_a = [&] {
    FakeTensorMap map = {};
    std::memcpy(&map, &bound->map_a, sizeof map);
    return map;
  };
  const auto copy_of_b = [&] {
    FakeTensorMap map = {};
    std::memcpy(&map, &bound->map_b, sizeof map);
    return map;
  };
  char* const first = static_cast<char*>(workspace(*plan));
  char* const second = static_cast<char*>(workspace(*plan));
  for (char* const place : {first, second}) {
    ASSERT_TRUE(use_scratch(driver_, *plan, *bound, {place, nullptr}));
    EXPECT_EQ(copy_of_a().address, place + plan->packing.at_a);
    EXPECT_EQ(copy_of_b().address, place + plan->packing.at_b);
    EXPECT_EQ(copy_of_a().stride_bytes, 384U);
    EXPECT_EQ(copy_of_a().columns, 133U);
    EXPECT_EQ(bound->args.a, place + plan->packing.at_a);
    EXPECT_EQ(bound->args.b, place + plan->packing.at_b);
    EXPECT_EQ(bound->pack.operands[0].from, a_.data() + 1);
    EXPECT_EQ(bound->pack.operands[1].from, b_.data() + 1);
    EXPECT_EQ(bound->pack.operands[0].to, place + plan->packing.at_a);
    EXPECT_EQ(bound->pack.operands[1].to, place + plan->packing.at_b);
  }
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled=1");
  EXPECT_TRUE(use_scratch(driver_, *plan, *bound, {second, nullptr})) << "nothing to encode";
  EXPECT_FALSE(use_scratch(driver_, *plan, *bound, {first, nullptr}));
}

// BUG: a workspace whose maps could not be encoded counted as the one in use, so that a second try
// would have launched with the maps of another.
TEST_F(PackedLaunching, AFailedEncodingIsTriedAgain) {
  const auto plan = plan_of("sm90_ws:s2.e1.pk3", odd_problem(Layout::kTN));
  ASSERT_TRUE(plan) << plan.error().what;
  auto bound = bind(driver_, *plan, operands());
  ASSERT_TRUE(bound) << bound.error().what;
  const Scratch scratch = {workspace(*plan), nullptr};
  {
    const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled=1");
    EXPECT_FALSE(use_scratch(driver_, *plan, *bound, scratch));
  }
  ASSERT_TRUE(use_scratch(driver_, *plan, *bound, scratch));
  FakeTensorMap map = {};
  std::memcpy(&map, &bound->map_a, sizeof map);
  EXPECT_EQ(map.address, static_cast<char*>(scratch.workspace) + plan->packing.at_a);
}

}  // namespace
}  // namespace gemmsmith::plan
