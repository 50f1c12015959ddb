// What the two kernel families promise about their spaces.
#include <gtest/gtest.h>

#include <set>

#include "space/space.h"
#include "support/problems.h"

namespace gemmsmith {
namespace {

using test::problem_of;

std::int64_t legal_count(const Family& family, const Problem& problem, const char* target_name) {
  const Target target = *known_target(target_name);
  return enumerate(family, {problem, target}, [](const Config&) { return true; }).legal;
}

std::string broken(const char* text, const Problem& problem, const char* target_name = "h200") {
  const Target target = *known_target(target_name);
  const Config config = *parse_config(text, kernel_families());
  const Constraint* rule = broken_rule({problem, target}, config);
  return rule == nullptr ? "legal" : std::string(rule->id);
}

TEST(Families, ConstraintsAreNamedOnceAndExplained) {
  for (const Family* family : kernel_families()) {
    std::set<std::string_view> ids;
    for (const Constraint& constraint : family->constraints) {
      EXPECT_TRUE(ids.insert(constraint.id).second) << constraint.id;
      EXPECT_GT(constraint.reason.size(), 15U) << constraint.id;
      EXPECT_FALSE(constraint.reads.empty()) << constraint.id;
      for (const std::string_view name : constraint.reads)
        EXPECT_GE(family->index_of(name), 0) << constraint.id << " reads " << name;
    }
  }
}

TEST(Families, AnF32DFollowsItsOwnRules) {
  Problem problem = problem_of(512, 516, 512);
  EXPECT_EQ(broken("sm90_ws:s4", problem), "tma_writes_d");
  problem.f32_output = true;
  EXPECT_EQ(broken("sm90_ws:s4", problem), "legal") << "4 columns are 16 bytes";
  problem.ldd = 518;
  EXPECT_EQ(broken("sm90_ws:s4", problem), "tma_writes_d");
  EXPECT_EQ(broken("sm90_ws:s4.e1", problem), "legal");
  // 256 x 256 floats are more than a block's shared memory; as 16-bit elements they fit.
  const Target h200 = *known_target("h200");
  const Config wide = *parse_config("sm80_mma:m256.n128.wm4.wn2.s2", kernel_families());
  Signature signature;
  EXPECT_EQ(wide.family->footprint(wide, signature).shared_bytes, 256 * (128 + 8) * 2);
  signature.f32_output = true;
  EXPECT_EQ(wide.family->footprint(wide, signature).shared_bytes, 256 * (128 + 8) * 4);
  EXPECT_LE(256 * (128 + 8) * 4, h200.shared_bytes_per_block);
}

// Two buffers of 64 rows of 128 bytes a consumer, of 32 columns where D is f32.
TEST(Families, StagingHoldsTheBytesOfD) {
  const auto bytes = [](const char* text, bool f32_output) {
    const Config config = *parse_config(text, kernel_families());
    Signature signature;
    signature.f32_output = f32_output;
    const int stages = config.at("stages");
    return config.family->footprint(config, signature).shared_bytes - 16 * stages -
           stages * (config.at("tile_m") + config.at("tile_n")) * 64 * 2;
  };
  EXPECT_EQ(bytes("sm90_ws:n64.s2", false), 8192);
  EXPECT_EQ(bytes("sm90_ws:n64.s2", true), 16384);
  EXPECT_EQ(bytes("sm90_ws:n8.s2", true), 2048);
  EXPECT_EQ(bytes("sm90_ws:n128.s2", true), 16384);
  EXPECT_EQ(bytes("sm90_ws:n48.e1.s2", false), 0);
  EXPECT_EQ(bytes("sm90_ws:n48.e1.s2", true), 8192);
}

TEST(Families, BatchesFollowTheirOwnRules) {
  Problem batch = problem_of(72, 72, 4104);  // rows that packing could move
  batch.batch = 6;
  batch = *make_problem(batch);
  EXPECT_EQ(broken("sm90_ws:s4", batch), "legal");
  EXPECT_EQ(broken("sm90_ws:s4.pk1", batch), "packing_takes_single_matrices");
  EXPECT_EQ(broken("sm80_mma:s2.pk1", batch), "packing_takes_single_matrices");
  EXPECT_EQ(broken("sm90_ws:e1.s4.sp2.sk4", batch), "legal") << "6 * 4 tiles of 4 CTAs";
  EXPECT_EQ(broken("sm90_ws:e1.s4.sp1.sk4", batch), "legal");
  batch.batch = 60;
  batch = *make_problem(batch);
  EXPECT_EQ(broken("sm90_ws:e1.s4.sp2.sk4", batch), "split_ctas_fit_at_once");
  EXPECT_EQ(broken("sm90_ws:e1.s4.sp1.sk4", batch), "legal") << "clusters need not meet";
  batch.stride_d += 4;
  EXPECT_EQ(broken("sm90_ws:s4", batch), "tma_writes_d");
  EXPECT_EQ(broken("sm90_ws:s4.e1", batch), "legal");
  batch.stride_a += 4;
  EXPECT_EQ(broken("sm90_ws:s4.e1", batch), "unreadable_operands_are_packed");
  EXPECT_EQ(broken("sm80_mma:s2", batch), "unreadable_operands_are_packed");
  EXPECT_EQ(broken("sm80_mma:s2.l1", batch), "legal");
  batch.stride_a = 0;
  EXPECT_EQ(broken("sm90_ws:s4.e1", batch), "legal") << "one A for all";
}

TEST(Families, BatchesHaveFewerRegistersToSpare) {
  Problem batch = problem_of(512, 512, 4096);
  EXPECT_EQ(broken("sm90_ws:w2.m192.n256.s3", batch), "legal");
  batch.batch = 6;
  batch = *make_problem(batch);
  EXPECT_EQ(broken("sm90_ws:w2.m192.n256.s3", batch), "batches_fit");
  EXPECT_EQ(broken("sm90_ws:w2.m192.n224.s3", batch), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.m256.n192.s3", batch), "legal");
}

TEST(Families, GroupsAreWalkedByPersistentCtas) {
  Problem groups = problem_of(4096, 1024, 512);
  groups.batch = 64;
  groups.grouped = true;
  groups = *make_problem(groups);
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s4.e1.ps1", groups), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m128.n128.s4.e1.ps1", groups), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s4.e1", groups), "groups_are_walked");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s4.ps1", groups), "groups_are_stored_by_rows");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s4.e1.ps1.cn2", groups), "groups_take_single_ctas");
  EXPECT_EQ(broken("sm80_mma:s2", groups), "groups_are_hoppers");
}

TEST(Families, DefaultsAreAmongTheValues) {
  for (const Family* family : kernel_families())
    for (const Parameter& parameter : family->parameters)
      EXPECT_NE(
          std::find(parameter.values.begin(), parameter.values.end(), parameter.default_value),
          parameter.values.end())
          << family->name << " " << parameter.name;
}

TEST(Families, RecommendedPresetsAreLegalWhereRecommended) {
  const Problem problem = problem_of(4096, 4096, 4096);
  EXPECT_EQ(broken("a100-f16-128x64x32-s2", problem, "a100"), "legal");
  EXPECT_EQ(broken("a100-f16-128x64x32-s3", problem, "a100"), "legal");
  EXPECT_EQ(broken("h100-f16-128x128x64", problem, "h100"), "legal");
  const Config h100 = *parse_config("h100-f16-128x128x64", kernel_families());
  EXPECT_EQ(h100.at("tile_m"), 128);
  EXPECT_EQ(h100.at("tile_n"), 128);
  EXPECT_EQ(h100.at("tile_k"), 64);
  EXPECT_EQ(h100.at("stages"), 3);
  const Config a100 = *parse_config("a100-f16-128x64x32-s3", kernel_families());
  EXPECT_EQ(a100.family->footprint(a100, Signature{}).threads, 128);
}

// Every shape of the grid must offer enough to search: 40 measurements a shape and more.
TEST(Families, TinyAndHugeShapesHaveLegalKernelsInBothFamilies) {
  for (const Problem& problem :
       {problem_of(64, 64, 64), problem_of(64, 16384, 64), problem_of(16384, 64, 16384),
        problem_of(16384, 16384, 16384), problem_of(1, 1, 1), problem_of(17, 33, 65)}) {
    EXPECT_GT(legal_count(sm90_ws_family(), problem, "h200"), 0) << describe(problem);
    EXPECT_GT(legal_count(sm80_mma_family(), problem, "h200"), 0) << describe(problem);
  }
}

TEST(Families, Sm90WsIsForHopperOnly) {
  EXPECT_EQ(legal_count(sm90_ws_family(), problem_of(4096, 4096, 4096), "a100"), 0);
  EXPECT_GT(legal_count(sm80_mma_family(), problem_of(4096, 4096, 4096), "a100"), 0);
}

struct Broken {
  const char* config;
  const char* rule;
};

TEST(Sm90Ws, BWithNContiguousNeedsWholeBoxes) {
  Problem problem = problem_of(4096, 4096, 4096);
  for (const Layout layout : {Layout::kNT, Layout::kTT}) {
    problem.layout = layout;
    EXPECT_EQ(broken("sm90_ws:n24", problem), "b_boxes_are_whole");
    EXPECT_EQ(broken("sm90_ws:n48", problem), "legal");
    EXPECT_EQ(broken("sm90_ws:w2.m64.n64", problem), "b_boxes_are_whole") << "32 columns each";
    EXPECT_EQ(broken("sm90_ws:n16.cm2", problem), "legal") << "shared out by lines of k";
  }
  for (const Layout layout : {Layout::kTN, Layout::kNN}) {
    problem.layout = layout;
    EXPECT_EQ(broken("sm90_ws:n24", problem), "legal");
  }
}

class BrokenRule : public testing::TestWithParam<Broken> {};

TEST_P(BrokenRule, IsTheOneNamed) {
  EXPECT_EQ(broken(GetParam().config, problem_of(4096, 4096, 4096)), GetParam().rule);
}

INSTANTIATE_TEST_SUITE_P(
    Sm90Ws, BrokenRule,
    testing::Values(
        Broken{"sm90_ws:w2.m128.n256.s4", "legal"}, Broken{"sm90_ws:cm0", "values_in_range"},
        Broken{"sm90_ws:m1000000.n1000000", "values_in_range"},
        Broken{"sm90_ws:w2.m128.n256.s5", "shared_memory_fits"},
        Broken{"sm90_ws:w2.m256.n256.s2", "accumulators_fit"},
        Broken{"sm90_ws:w2.m128.n224.pp1.s2.ps1", "accumulators_fit"},
        Broken{"sm90_ws:m128.n192.s3", "accumulators_fit"},
        Broken{"sm90_ws:w2.m192.n256.e1.s2", "row_stores_fit"},
        Broken{"sm90_ws:w2.pp1.m256.n80.e1.s2.ps1", "row_stores_fit"},
        Broken{"sm90_ws:w2.m192.n192.e1.s2", "legal"}, Broken{"sm90_ws:w2.m192.n256.s2", "legal"},
        Broken{"sm90_ws:w2.m256.n192.e1.s2", "legal"}, Broken{"sm90_ws:pp1", "pingpong_takes_two"},
        Broken{"sm90_ws:m256", "wide_tiles_take_two"},
        Broken{"sm90_ws:w2.m64.n24", "consumers_share_whole_blocks"},
        Broken{"sm90_ws:n8.cm2", "multicast_parts_are_whole"},
        Broken{"sm90_ws:cm4.cn4", "cluster_within_four"}, Broken{"sm90_ws:e1.sp1.sk4", "legal"},
        Broken{"sm90_ws:sp1.sk4", "split_stores_directly"},
        Broken{"sm90_ws:e1.sk4", "split_agrees"}, Broken{"sm90_ws:e1.sp1", "split_agrees"},
        Broken{"sm90_ws:e1.sp1.sk4.cm2", "split_takes_the_cluster"},
        Broken{"sm90_ws:e1.sp1.sk4.ps1", "split_is_not_persistent"},
        Broken{"sm90_ws:e1.sp1.sk24", "cluster_holds_the_split"},
        Broken{"sm90_ws:e1.sp2.sk2", "split_ctas_fit_at_once"},
        Broken{"sm90_ws:sp2.sk4", "split_stores_directly"},
        Broken{"sm90_ws:e1.sp2", "split_agrees"},
        Broken{"sm90_ws:e1.sp2.sk4.cn2", "split_takes_the_cluster"},
        Broken{"sm90_ws:w2.pp1.ps1.e1.sp2.sk4", "split_takes_the_cluster"},
        Broken{"sm90_ws:w2.pp1", "pingpong_is_persistent"}));

TEST(Sm90Ws, ASplitThroughTheWorkspaceFitsTheDeviceAtOnce) {
  // 16 tiles: 132 SMs hold 8 CTAs of each, one an SM with this much shared memory.
  const Problem problem = problem_of(512, 512, 16384);
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s6.e1.sp2.sk8", problem), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s6.e1.sp2.sk10", problem), "split_ctas_fit_at_once");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s3.e1.sp2.sk10", problem), "split_ctas_fit_at_once")
      << "two would fit but for their 18 warps, five of them on one quarter's registers";
  EXPECT_EQ(broken("sm90_ws:e1.sp2.sk6", problem), "legal") << "64 tiles, three CTAs an SM";
  EXPECT_EQ(broken("sm90_ws:w2.m128.n128.s6.e1.sp2.sk8.ps1", problem), "split_is_not_persistent");
  // A staging or exchange area would not leave room for these.
  EXPECT_EQ(broken("sm90_ws:w2.m128.n256.s4.e1.sp2.sk12", problem), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.m128.n256.s4.e1.sp1.sk12", problem), "shared_memory_fits");
  EXPECT_EQ(broken("sm90_ws:e1.sp2.sk32", problem_of(64, 64, 8192)), "legal");
  EXPECT_EQ(broken("sm90_ws:e1.s2.sp2.sk32", problem_of(64, 64, 1984)), "split_has_k_tiles");
}

// 320 CTAs of 128 x 256 would be 40 MiB of f32; no card holds so many of them yet.
TEST(Sm90Ws, PartialSumsFitTheWorkspace) {
  Target target = *known_target("h200");
  target.sm_count = 400;
  const auto config = parse_config("sm90_ws:w2.m128.n256.s4.e1.sp2.sk8", kernel_families());
  ASSERT_TRUE(config);
  const Problem fits = problem_of(1024, 1024, 8192);
  EXPECT_EQ(broken_rule({fits, target}, *config), nullptr);
  Problem large = problem_of(1024, 1152, 8192);
  ASSERT_NE(broken_rule({large, target}, *config), nullptr);
  EXPECT_EQ(broken_rule({large, target}, *config)->id, "split_fits_the_workspace");
  large.accumulator = DataType::kF16;
  EXPECT_EQ(broken_rule({large, target}, *config), nullptr) << "half as large";
}

INSTANTIATE_TEST_SUITE_P(
    Sm80Mma, BrokenRule,
    testing::Values(Broken{"sm80_mma", "legal"}, Broken{"sm80_mma:wm0", "values_in_range"},
                    Broken{"sm80_mma:wm-2.k1000000", "values_in_range"},
                    Broken{"sm80_mma:m256.n256", "accumulators_fit"},
                    Broken{"sm80_mma:m16.n256.wm1.wn1", "fragments_fit"},
                    Broken{"sm80_mma:m16", "warps_share_whole_blocks"},
                    Broken{"sm80_mma:k32.wk4", "k_slices_are_whole"},
                    Broken{"sm80_mma:m128.n128.wm4.wn4", "warps_are_few"},
                    Broken{"sm80_mma:m128.n256.wm2.wn4.k128.s8", "shared_memory_fits"}));

// What TMA and 16-byte copies cannot read or write is refused for the problem, not found out on
// the device.
TEST(Sm80Mma, ElementsLeaveRoomForSmallerF16Accumulators) {
  Problem problem = problem_of(8192, 8191, 8191);
  problem.accumulator = DataType::kF16;
  EXPECT_EQ(broken("sm80_mma:m128.n128.wm1.wn2.l1", problem), "elements_fit");
  EXPECT_EQ(broken("sm80_mma:m128.n128.wm2.wn2.l1", problem), "legal");
  problem = problem_of(8192, 8192, 8192);
  problem.accumulator = DataType::kF16;
  EXPECT_EQ(broken("sm80_mma:m128.n128.wm1.wn2", problem), "legal");
}

TEST(Sm90Ws, ThreeBlocksOfTheWidestF16AccumulatorsAreNotStored) {
  Problem problem = problem_of(8192, 8192, 8192);
  problem.accumulator = DataType::kF16;
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m192.n256.s2.ps1", problem), "tma_stores_fit");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m192.n256.e1.s2.ps1", problem), "row_stores_fit");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m192.n224.s2.ps1", problem), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.m192.n256.s2", problem), "legal") << "half the columns each";
}

TEST(Sm90Ws, FourBlocksOfWideF16AccumulatorsAreStoredByRows) {
  Problem problem = problem_of(8192, 8192, 8192);
  problem.accumulator = DataType::kF16;
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m256.n192.s2.ps1", problem), "tma_stores_fit");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m256.n192.e1.s2.ps1", problem), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m256.n160.s2.ps1", problem), "legal");
}

TEST(Families, F32ResultsTakeRegistersOfTheirOwn) {
  Problem problem = problem_of(4096, 4096, 4096);
  for (const char* config : {"sm90_ws:w2.m192.n256.s2", "sm90_ws:w2.pp1.m128.n192.e1.s2.ps1"}) {
    problem.f32_output = false;
    EXPECT_EQ(broken(config, problem), "legal") << config;
    problem.f32_output = true;
    EXPECT_EQ(broken(config, problem), "f32_results_fit") << config;
  }
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m128.n192.s2.ps1", problem), "legal");
  EXPECT_EQ(broken("sm90_ws:w2.pp1.m128.n160.e1.s2.ps1", problem), "legal");
}

TEST(Sm80Mma, LoadsElementByElementWhatNothingElseReads) {
  Problem problem = problem_of(128, 128, 128);
  EXPECT_EQ(broken("sm80_mma:s2.l1", problem), "elements_are_for_the_rest");
  problem.lda = 129;
  EXPECT_EQ(broken("sm80_mma:s2.l1", problem), "legal");
  EXPECT_EQ(broken("sm80_mma:s2.l1.pk1", problem), "elements_need_no_packing");
  EXPECT_EQ(broken("sm80_mma:s2", problem), "unreadable_operands_are_packed");
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT}) {
    problem = problem_of(128, 128, 128);
    problem.layout = layout;
    EXPECT_EQ(broken("sm80_mma:s2", problem), "chunks_are_of_k");
    EXPECT_EQ(broken("sm80_mma:s2.l1", problem), "legal");
  }
}

TEST(Families, AlignmentDecidesWhatIsPacked) {
  Problem odd_k = problem_of(128, 128, 100);
  for (const char* config : {"sm90_ws:s2", "sm90_ws:s2.pk1", "sm90_ws:s2.pk2", "sm80_mma:s2"})
    EXPECT_EQ(broken(config, odd_k), "unreadable_operands_are_packed") << config;
  EXPECT_EQ(broken("sm90_ws:s2.pk3", odd_k), "legal");
  EXPECT_EQ(broken("sm80_mma:s2.pk3", odd_k), "legal");
  odd_k.lda = 104;
  EXPECT_EQ(broken("sm90_ws:s2.pk2", odd_k), "legal");
  EXPECT_EQ(broken("sm90_ws:s2.pk1", odd_k), "unreadable_operands_are_packed");
  EXPECT_EQ(broken("sm90_ws:s2.pk1", problem_of(128, 128, 128)), "packing_may_pay");
  // Readable, but rows start anywhere in a cache line.
  Problem padded = odd_k;
  padded.lda = padded.ldb = 104;
  EXPECT_EQ(broken("sm90_ws:s2", padded), "legal");
  EXPECT_EQ(broken("sm80_mma", padded), "legal");
  EXPECT_EQ(broken("sm90_ws:s2.pk3", padded), "legal");
  Problem large = problem_of(128, 50257, 4095);
  EXPECT_EQ(broken("sm90_ws:e1.pk3", large), "packed_fits_the_workspace");
  large.n = 2000;
  EXPECT_EQ(broken("sm90_ws:e1.pk3", large), "legal");
  Problem odd_n = problem_of(128, 101, 128);
  EXPECT_EQ(broken("sm90_ws:s2", odd_n), "tma_writes_d");
  EXPECT_EQ(broken("sm90_ws:s2.e1", odd_n), "legal");
  odd_n.ldc = odd_n.ldd = 104;  // clipped in whole 16-byte chunks: the padding would be written
  EXPECT_EQ(broken("sm90_ws:s2", odd_n), "tma_writes_d");
  EXPECT_EQ(broken("sm80_mma", odd_n), "legal");
  Problem shifted = problem_of(128, 128, 128);
  shifted.alignment.a = 2;
  EXPECT_EQ(broken("sm90_ws:s2", shifted), "unreadable_operands_are_packed");
  EXPECT_EQ(broken("sm90_ws:s2.pk1", shifted), "legal");
  shifted.alignment = {16, 16, 2, 2};
  EXPECT_EQ(broken("sm90_ws:s2", shifted), "tma_writes_d");
  EXPECT_EQ(broken("sm80_mma", shifted), "legal");
}

}  // namespace
}  // namespace gemmsmith
