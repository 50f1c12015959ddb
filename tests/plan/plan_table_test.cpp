// Plan tables: what is written is found again, and nothing damaged is ever used.
#include "plan/plan_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/hash.h"
#include "plan/plan_fixtures.h"
#include "plan/plan_table_layout.h"
#include "plan/plan_table_writer.h"

namespace gemmsmith::plan {
namespace {

using test::config_of;
using test::h200;
using test::problem_of;

PlanTableWriter writer() {
  return PlanTableWriter({"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"});
}

const PlanTableWriter::Kernel kKernel = {
    "\x7f"
    "ELF cubin",
    "gemm", 168, 16};

// Two kernel plans that share a cubin, and one of the vendor's.
std::string small_table() {
  PlanTableWriter table = writer();
  const Config config = config_of("sm90_ws:w2.m128.n256.s3");
  EXPECT_TRUE(
      table.add_kernel_plan(problem_of(4096, 4096, 4096), config, h200(), kKernel, {180, 1.02, 1}));
  EXPECT_TRUE(
      table.add_kernel_plan(problem_of(512, 4096, 4096), config, h200(), kKernel, {25, 1.1, 1.2}));
  EXPECT_TRUE(
      table.add_vendor_plan(problem_of(64, 64, 64), "cublaslt:a66.t20", 4096, {2, 1.05, 1.04}));
  return table.bytes().value();
}

std::string error_of(const std::string& bytes) {
  const auto table = PlanTable::from_bytes(bytes, "t.plans");
  return table ? "no error" : table.error().what;
}

std::string refusal(const std::string& reason) {
  return "cannot use the plan table t.plans: " + reason +
         "; make it again with gemmsmith store plan-table";
}

// As a writer with a bug, or an attacker, would: the checksum is right.
void seal(std::string& bytes) {
  const std::uint64_t checksum = hash64(std::string_view(bytes).substr(kPlanChecksumEnd));
  std::memcpy(bytes.data() + offsetof(PlanFileHeader, checksum), &checksum, sizeof checksum);
}

TEST(PlanTable, FindsWhatWasWritten) {
  const auto table = PlanTable::from_bytes(small_table(), "t.plans");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->device_name(), "NVIDIA H200");
  EXPECT_EQ(table->compute_capability(), 90);
  EXPECT_EQ(table->sm_count(), 132);
  EXPECT_EQ(table->cublas_version(), "13.1.0");
  EXPECT_EQ(table->compiler_version(), "nvrtc 13.0");
  ASSERT_EQ(table->entries().size(), 3U);
  EXPECT_EQ(table->kernel_count(), 1U) << "a shared cubin is kept once";

  const PlanEntry* kernel_plan = table->find(key_of(problem_of(512, 4096, 4096)));
  ASSERT_NE(kernel_plan, nullptr);
  EXPECT_EQ(kernel_plan->source, PlanSource::kKernel);
  EXPECT_EQ(table->text(*kernel_plan), "sm90_ws:w2.m128.n256.s3");
  EXPECT_FLOAT_EQ(kernel_plan->ratio_chained, 1.1F);
  EXPECT_FLOAT_EQ(kernel_plan->ratio_foreign, 1.2F);
  EXPECT_FLOAT_EQ(kernel_plan->expected_us, 25);
  EXPECT_EQ(kernel_plan->recipe,
            make_recipe(config_of("sm90_ws:w2.m128.n256.s3"), Signature{}, h200()));
  const PlanKernel kernel = table->kernel(kernel_plan->kernel);
  EXPECT_EQ(kernel.cubin, kKernel.cubin);
  EXPECT_EQ(kernel.function, "gemm");
  EXPECT_EQ(kernel.registers, 168);
  EXPECT_EQ(kernel.static_shared_bytes, 16);

  const PlanEntry* vendor_plan = table->find(key_of(problem_of(64, 64, 64)));
  ASSERT_NE(vendor_plan, nullptr);
  EXPECT_EQ(vendor_plan->source, PlanSource::kVendor);
  EXPECT_EQ(table->text(*vendor_plan), "cublaslt:a66.t20");
  EXPECT_EQ(vendor_plan->workspace_bytes, 4096);
}

TEST(PlanTable, OtherProblemsHaveNoPlan) {
  const auto table = PlanTable::from_bytes(small_table(), "t.plans");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find(key_of(problem_of(64, 64, 65))), nullptr);
  Problem bf16 = problem_of(64, 64, 64);
  bf16.type = DataType::kBf16;
  EXPECT_EQ(table->find(key_of(bf16)), nullptr);
  Problem misaligned = problem_of(64, 64, 64);
  misaligned.alignment.a = 8;
  EXPECT_EQ(table->find(key_of(misaligned)), nullptr);
}

TEST(PlanTable, EmptyTablesAreLegal) {
  const auto table = PlanTable::from_bytes(writer().bytes().value(), "t.plans");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_TRUE(table->entries().empty());
  EXPECT_EQ(table->find(key_of(problem_of(64, 64, 64))), nullptr);
}

TEST(PlanKey, AlignmentClassIsOfPointerAndLeadingDimension) {
  const auto bits = [](auto change) {
    Problem problem = problem_of(64, 64, 64);
    change(problem);
    return key_of(problem).alignment;
  };
  EXPECT_EQ(bits([](Problem&) {}), 0);
  EXPECT_EQ(bits([](Problem& p) { p.lda = 72; }), 0) << "padding that stays aligned";
  EXPECT_EQ(bits([](Problem& p) { p.lda = 68; }), 1);
  EXPECT_EQ(bits([](Problem& p) { p.alignment.b = 4; }), 2 << 2);
  EXPECT_EQ(bits([](Problem& p) { p.ldd = 65; }), 3 << 6);
  EXPECT_EQ(bits([](Problem& p) { p.ldc = 65; }), 0) << "C is not read";
  EXPECT_EQ(bits([](Problem& p) { p.ldc = 65, p.beta = 1; }), 3 << 4);
}

TEST(PlanKey, StridesOfABatchCountAsAlignmentOnly) {
  const auto key = [](auto change) {
    Problem problem = test::batch_of(64, 64, 64, 12);
    change(problem);
    return key_of(problem);
  };
  const PlanKey dense = key([](Problem&) {});
  EXPECT_EQ(dense.batch, 12);
  EXPECT_EQ(dense.alignment, 0);
  EXPECT_EQ(key([](Problem& p) { p.stride_a = 0; }), dense) << "the same kernel serves it";
  EXPECT_EQ(key([](Problem& p) { p.stride_d += 64; }), dense);
  EXPECT_EQ(key([](Problem& p) { p.stride_a += 4; }).alignment, 1);
  EXPECT_EQ(key([](Problem& p) { p.stride_b += 1; }).alignment, 3 << 2);
  EXPECT_EQ(key([](Problem& p) { p.stride_d += 2; }).alignment, 2 << 6);
  EXPECT_NE(key([](Problem& p) { p.batch = 13; }), dense);
}

TEST(PlanKey, GroupsAreFoundByPowersOfTwoOfTheirRows) {
  const auto key = [](std::int64_t m, bool grouped) {
    Problem problem = problem_of(m, 64, 64);
    problem.batch = 8;
    problem.grouped = grouped;
    return key_of(*make_problem(problem));
  };
  EXPECT_EQ(key(1000, true).m, 1024);
  EXPECT_EQ(key(1024, true), key(513, true));
  EXPECT_NE(key(1025, true), key(1024, true));
  EXPECT_NE(key(1024, true), key(1024, false));
  EXPECT_EQ(key(1000, false).m, 1000);
  EXPECT_EQ(key(2147483647, true).m, 2147483647);
}

TEST(PlanKey, EpilogueIsTheWorkThatAlphaAndBetaAskFor) {
  const auto epilogue = [](float alpha, float beta) {
    Problem problem = problem_of(64, 64, 64);
    problem.alpha = alpha;
    problem.beta = beta;
    return static_cast<Epilogue>(key_of(problem).epilogue);
  };
  EXPECT_EQ(epilogue(1, 0), Epilogue::kPlain);
  EXPECT_EQ(epilogue(1, -0.0F), Epilogue::kPlain);
  EXPECT_EQ(epilogue(2, 0), Epilogue::kScaled);
  EXPECT_EQ(epilogue(1, 1), Epilogue::kGeneral);
  EXPECT_EQ(epilogue(2, -1), Epilogue::kGeneral);
}

TEST(PlanTable, TheOrderOfAddingLeavesNoTrace) {
  std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7};
  std::string first;
  std::mt19937 rng(3);
  for (int round = 0; round < 10; ++round) {
    PlanTableWriter table = writer();
    for (const int i : order) {
      const PlanTableWriter::Kernel kernel = {"cubin " + std::to_string(i % 3)};
      ASSERT_TRUE(table.add_kernel_plan(problem_of(64 + i, 64, 64), config_of("sm80_mma:s2"),
                                        h200(), kernel, {1, 1, 1}));
    }
    const std::string bytes = table.bytes().value();
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
    std::shuffle(order.begin(), order.end(), rng);
  }
}

RC_GTEST_PROP(PlanTable, EveryPlanIsFoundAgain, (std::vector<std::array<std::uint8_t, 4>> seeds)) {
  PlanTableWriter table = writer();
  std::vector<Problem> added;
  for (const auto& seed : seeds) {
    const Problem problem = problem_of(1 + seed[0], 1 + seed[1], 1 + seed[2]);
    const std::string config = "cublaslt:a" + std::to_string(seed[3]);
    const bool is_new = std::find(added.begin(), added.end(), problem) == added.end();
    RC_ASSERT(table.add_vendor_plan(problem, config, seed[3], {}).has_value() == is_new);
    if (is_new) added.push_back(problem);
  }
  const auto read = PlanTable::from_bytes(table.bytes().value(), "t.plans");
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->entries().size() == added.size());
  for (const Problem& problem : added) {
    const PlanEntry* entry = read->find(key_of(problem));
    RC_ASSERT(entry != nullptr);
    RC_ASSERT(read->text(*entry) == "cublaslt:a" + std::to_string(entry->workspace_bytes));
  }
}

TEST(PlanTable, TheWriterRefusesWhatCannotBeServed) {
  PlanTableWriter table = writer();
  const Problem problem = problem_of(64, 64, 64);
  ASSERT_TRUE(table.add_vendor_plan(problem, "cublaslt:a66", 0, {}));
  EXPECT_EQ(table.add_vendor_plan(problem, "cublaslt:a67", 0, {}).error().what,
            "a plan table holds one plan a problem; 64_64_64 f16/f32 tn has two");
  EXPECT_EQ(table.add_vendor_plan(problem_of(0, 1, 1), "cublaslt:a66", 0, {}).error().what,
            "a plan table cannot hold a plan for 0_1_1 f16/f32 tn");
  EXPECT_EQ(
      table.add_kernel_plan(problem_of(64, 64, 8), config_of("sm90_ws:s12"), h200(), kKernel, {})
          .error()
          .what,
      "sm90_ws:s12 is not legal for 64_64_8 f16/f32 tn: stages_have_k_tiles (more stages "
      "than k tiles to fill them)");
  EXPECT_FALSE(
      table.add_kernel_plan(problem_of(64, 64, 72), config_of("sm80_mma:s2"), h200(), {}, {}))
      << "an empty cubin";
}

TEST(PlanTable, KernelPlansSayHowMuchWorkspaceTheyNeed) {
  PlanTableWriter table = writer();
  const Problem problem = problem_of(512, 512, 16384);
  ASSERT_TRUE(table.add_kernel_plan(problem, config_of("sm90_ws:w2.m128.n128.s6.e1.sp2.sk8"),
                                    h200(), kKernel, {}));
  const auto read = PlanTable::from_bytes(table.bytes().value(), "t.plans");
  ASSERT_TRUE(read) << read.error().what;
  const PlanEntry* const entry = read->find(key_of(problem));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->workspace_bytes, 16 * 8 * 128 * 128 * 4);
  EXPECT_EQ(entry->recipe.split_k, 8);
}

// Odd k: both operands are packed.
std::string packing_table() {
  PlanTableWriter table = writer();
  PlanTableWriter::Kernel kernel = kKernel;
  kernel.pack_cubin = "the cubin of pack.cu";
  EXPECT_TRUE(table.add_kernel_plan(problem_of(64, 64, 64), config_of("sm90_ws:s2.e1"), h200(),
                                    kernel, {5, 1.1, 1.1}));
  EXPECT_TRUE(table.add_kernel_plan(problem_of(64, 64, 65), config_of("sm90_ws:s2.e1.pk3"), h200(),
                                    kernel, {5, 1.1, 1.1}));
  EXPECT_TRUE(table.add_kernel_plan(problem_of(64, 64, 67), config_of("sm80_mma:s2.pk3"), h200(),
                                    kernel, {5, 1.1, 1.1}));
  return table.bytes().value();
}

TEST(PlanTable, PackingPlansBringTheKernelThatPacks) {
  const auto table = PlanTable::from_bytes(packing_table(), "t.plans");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->kernel_count(), 2U) << "one that multiplies, one that packs: each kept once";
  for (const std::int64_t k : {65, 67}) {
    const PlanEntry* const entry = table->find(key_of(problem_of(64, 64, k)));
    ASSERT_NE(entry, nullptr) << k;
    EXPECT_EQ(entry->recipe.pack, 3);
    EXPECT_EQ(entry->workspace_bytes, 2 * 64 * 128 * 2) << k;
    ASSERT_LT(entry->pack_kernel, table->kernel_count());
    EXPECT_EQ(table->kernel(entry->pack_kernel).cubin, "the cubin of pack.cu");
    EXPECT_EQ(table->kernel(entry->pack_kernel).function, "pack");
    EXPECT_EQ(table->kernel(entry->kernel).cubin, kKernel.cubin);
    EXPECT_EQ(table->kernel(entry->kernel).function, "gemm");
  }
  EXPECT_EQ(table->find(key_of(problem_of(64, 64, 64)))->pack_kernel, PlanEntry::kNoKernel);
}

TEST(PlanTable, CopiesOfPackingPlansAreTheSame) {
  const std::string bytes = packing_table();
  const auto table = PlanTable::from_bytes(bytes, "t.plans");
  ASSERT_TRUE(table) << table.error().what;
  PlanTableWriter copy = writer();
  for (const PlanEntry& entry : table->entries()) ASSERT_TRUE(copy.add_copy(*table, entry));
  EXPECT_EQ(copy.bytes().value(), bytes);
}

TEST(PlanTable, TheWriterRefusesAPackingPlanWithoutTheKernelThatPacks) {
  PlanTableWriter table = writer();
  const auto added = table.add_kernel_plan(problem_of(64, 64, 65), config_of("sm90_ws:s2.e1.pk3"),
                                           h200(), kKernel, {});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(added.error().what,
            "sm90_ws:e1.s2.pk3 packs operands and came without the kernel for that");
  EXPECT_TRUE(PlanTable::from_bytes(table.bytes().value(), "t.plans")->entries().empty())
      << "and keeps nothing of it";
}

// A plan with a follower, one without, and one of the vendor's.
PlanTableWriter with_follower() {
  PlanTableWriter table = writer();
  using Role = PlanTableWriter::Role;
  for (const auto& [m, config, role] :
       {std::tuple(64, "sm90_ws:s2.d0", Role::kPlan), std::tuple(64, "sm90_ws:s2", Role::kFollower),
        std::tuple(128, "sm90_ws:s2.d0", Role::kPlan)})
    EXPECT_TRUE(table.add_kernel_plan(problem_of(m, 64, 64), config_of(config), h200(), kKernel,
                                      {2, 1.5, 1}, role));
  EXPECT_TRUE(table.add_vendor_plan(problem_of(256, 64, 64), "cublaslt:a66.t20", 0, {2, 1.1, 1.1}));
  return table;
}

TEST(PlanTable, FollowersAreFoundThroughTheirPlans) {
  const auto table = PlanTable::from_bytes(with_follower().bytes().value(), "t.plans");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->entries().size(), 4U);
  EXPECT_TRUE(table->has_followers());
  const PlanEntry* const plan = table->find(key_of(problem_of(64, 64, 64)));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(table->text(*plan), "sm90_ws:s2.d0");
  ASSERT_NE(table->follower_of(*plan), nullptr);
  EXPECT_EQ(table->text(*table->follower_of(*plan)), "sm90_ws:s2");
  EXPECT_EQ(table->follower_of(*table->follower_of(*plan)), nullptr);
  for (const int m : {128, 256})
    EXPECT_EQ(table->follower_of(*table->find(key_of(problem_of(m, 64, 64)))), nullptr) << m;
  EXPECT_FALSE(PlanTable::from_bytes(small_table(), "t.plans")->has_followers());

  PlanTableWriter copy = writer();
  for (const PlanEntry& entry : table->entries())
    if (entry.key.follows == 0) {
      ASSERT_TRUE(copy.add_copy(*table, entry));
    }
  EXPECT_EQ(copy.bytes().value(), with_follower().bytes().value());
}

TEST(PlanTable, AFollowerNeedsAKernelsPlan) {
  PlanTableWriter alone = writer();
  ASSERT_TRUE(alone.add_kernel_plan(problem_of(64, 64, 64), config_of("sm90_ws:s2"), h200(),
                                    kKernel, {}, PlanTableWriter::Role::kFollower));
  EXPECT_EQ(alone.bytes().error().what,
            "sm90_ws:s2 follows, and the plan that it belongs to is no kernel's");
  ASSERT_TRUE(alone.add_vendor_plan(problem_of(64, 64, 64), "cublaslt:a66.t20", 0, {}));
  EXPECT_FALSE(alone.bytes());
}

// A table written before there were followers.
TEST(PlanTable, TheVersionBeforeIsRead) {
  std::string bytes = small_table();
  bytes[offsetof(PlanFileHeader, version)] = 5;
  EXPECT_EQ(error_of(bytes), "no error");
}

TEST(PlanTable, EveryTruncationIsRefused) {
  const std::string bytes = small_table();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(PlanTable::from_bytes(bytes.substr(0, size), "t.plans")) << size;
  EXPECT_EQ(error_of(bytes.substr(0, 79)), refusal("it has 79 bytes, fewer than a header"));
  EXPECT_EQ(error_of(bytes.substr(0, 200)),
            refusal(fmt::format("it has 200 bytes and should have {}: truncated or overwritten",
                                bytes.size())));
  EXPECT_FALSE(PlanTable::from_bytes(bytes + '\0', "t.plans")) << "bytes after the end";
}

TEST(PlanTable, EveryFlippedBitIsRefused) {
  const std::string bytes = small_table();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      EXPECT_FALSE(PlanTable::from_bytes(flipped, "t.plans")) << at << ' ' << bit;
    }
  }
}

TEST(PlanTable, RefusalsSayWhy) {
  EXPECT_EQ(error_of(std::string(200, 'x')), refusal("it is not a plan table"));
  std::string newer = small_table();
  newer[offsetof(PlanFileHeader, version)] = 9;
  EXPECT_EQ(error_of(newer),
            refusal("it has format version 9, this gemmsmith reads versions 5 to 8"));
  std::string older = small_table();
  older[offsetof(PlanFileHeader, version)] = 3;
  EXPECT_EQ(error_of(older),
            refusal("it has format version 3, this gemmsmith reads versions 5 to 8"));
  std::string other_order = small_table();
  std::reverse(other_order.begin() + offsetof(PlanFileHeader, byte_order),
               other_order.begin() + offsetof(PlanFileHeader, version));
  EXPECT_EQ(error_of(other_order), refusal("it was written on a machine of the other byte order"));
  std::string damaged = small_table();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_EQ(error_of(damaged), refusal("its checksum does not match: it is damaged"));
}

TEST(PlanTable, SealedNonsenseIsRefusedByItsMeaning) {
  const auto with_entry = [](auto change) {
    std::string bytes = small_table();
    PlanEntry entry = {};
    char* const place = bytes.data() + sizeof(PlanFileHeader) + 2 * sizeof(PlanEntry);
    std::memcpy(&entry, place, sizeof entry);
    change(entry);
    std::memcpy(place, &entry, sizeof entry);
    seal(bytes);
    return error_of(bytes);
  };
  EXPECT_EQ(with_entry([](PlanEntry&) {}), "no error");
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.key.m = 0; }), refusal("plan 2 has no legal key"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.key.m = 1; }), refusal("its plans are not in order"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.key.type = 9; }), refusal("plan 2 has no legal key"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.key.follows = 2; }),
            refusal("plan 2 has no legal key"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.key.follows = 1; }),
            refusal("plan 2 follows no kernel's plan"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.config = 1 << 20; }), refusal("plan 2 has no config"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.kernel = 1; }), refusal("plan 2 has no kernel"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.ratio_chained = NAN; }),
            refusal("plan 2 has figures that cannot be"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.recipe.threads = 2048; }),
            refusal("plan 2 cannot be launched"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.recipe.tile_m = 0; }),
            refusal("plan 2 cannot be launched"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.recipe.split_k = 32; }),
            refusal("plan 2 cannot be launched"))
      << "a cluster of 32";
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.recipe.tile_counters = 8; }),
            refusal("plan 2 cannot be launched"))
      << "counters without a workspace";
  const auto splits = [](LaunchRecipe& recipe) {
    recipe.split_k = 32;
    recipe.partial_bytes = recipe.tile_m * recipe.tile_n * 4;
    recipe.tile_counters = 8;
  };
  EXPECT_EQ(with_entry([&](PlanEntry& e) { splits(e.recipe); }), "no error");
  EXPECT_EQ(with_entry([&](PlanEntry& e) {
              splits(e.recipe);
              e.recipe.partial_bytes = 16;
            }),
            refusal("plan 2 cannot be launched"))
      << "it would write beyond its part";
  EXPECT_EQ(with_entry([&](PlanEntry& e) {
              splits(e.recipe);
              e.recipe.resident_ctas = 132;
            }),
            refusal("plan 2 cannot be launched"))
      << "not all of its CTAs would be there";
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.source = PlanSource::kVendor; }),
            refusal("plan 2 is the vendor's and has a kernel"));
  EXPECT_EQ(with_entry([](PlanEntry& e) { e.source = static_cast<PlanSource>(7); }),
            refusal("plan 2 has an unknown source"));
}

TEST(PlanTable, SealedNonsenseAboutPackingIsRefused) {
  // Entry 0 packs nothing, 1 and 2 do: in the order of k.
  const auto with_entry = [](std::size_t index, auto change) {
    std::string bytes = packing_table();
    PlanEntry entry = {};
    char* const place = bytes.data() + sizeof(PlanFileHeader) + index * sizeof(PlanEntry);
    std::memcpy(&entry, place, sizeof entry);
    change(entry);
    std::memcpy(place, &entry, sizeof entry);
    seal(bytes);
    return error_of(bytes);
  };
  const auto no_pack_kernel = [](std::size_t index) {
    return refusal(fmt::format("plan {} has no kernel for packing, or one too many", index));
  };
  EXPECT_EQ(with_entry(1, [](PlanEntry& e) { e.recipe.pack = 1; }), "no error");
  EXPECT_EQ(with_entry(1, [](PlanEntry& e) { e.pack_kernel = PlanEntry::kNoKernel; }),
            no_pack_kernel(1));
  EXPECT_EQ(with_entry(2, [](PlanEntry& e) { e.pack_kernel = 2; }), no_pack_kernel(2));
  EXPECT_EQ(with_entry(1, [](PlanEntry& e) { e.recipe.pack = 0; }), no_pack_kernel(1));
  EXPECT_EQ(with_entry(0, [](PlanEntry& e) { e.pack_kernel = 1; }), no_pack_kernel(0));
  EXPECT_EQ(with_entry(0, [](PlanEntry& e) { e.recipe.pack = 3; }), no_pack_kernel(0));
  EXPECT_EQ(with_entry(1, [](PlanEntry& e) { e.recipe.pack = 4; }),
            refusal("plan 1 cannot be launched"));
  EXPECT_EQ(with_entry(1, [](PlanEntry& e) { e.recipe.pack = -1; }),
            refusal("plan 1 cannot be launched"));
  EXPECT_EQ(with_entry(1,
                       [](PlanEntry& e) {
                         e.source = PlanSource::kVendor;
                         e.kernel = PlanEntry::kNoKernel;
                         e.recipe = {};
                       }),
            refusal("plan 1 is the vendor's and has a kernel"));
}

TEST(PlanTable, SealedDamageNeverReadsOutsideOfTheFile) {
  const std::string bytes = packing_table();
  std::mt19937 rng(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (unsigned i = 0; i <= rng() % 4; ++i)
      damaged[kPlanChecksumEnd + rng() % (bytes.size() - kPlanChecksumEnd)] =
          static_cast<char>(rng());
    seal(damaged);
    const auto table = PlanTable::from_bytes(damaged, "t.plans");
    if (!table) continue;
    ++accepted;
    std::size_t read = table->device_name().size() + table->cublas_version().size();
    for (const PlanEntry& entry : table->entries()) {
      EXPECT_EQ(table->find(entry.key), &entry);
      read += table->text(entry).size();
      for (const std::uint32_t kernel : {entry.kernel, entry.pack_kernel})
        if (kernel != PlanEntry::kNoKernel)
          read += table->kernel(kernel).cubin.size() + table->kernel(kernel).function.size();
    }
    EXPECT_LT(read, 10 * bytes.size());
  }
  EXPECT_GT(accepted, 0) << "the test must reach what lies behind the checks";
}

TEST(PlanTable, FilesAreWrittenAndMapped) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("gemmsmith_plan_table_test_{}.plans", ::getpid());
  PlanTableWriter table = writer();
  ASSERT_TRUE(table.add_vendor_plan(problem_of(64, 64, 64), "cublaslt:a66", 0, {}));
  ASSERT_TRUE(table.write(path));
  const auto read = PlanTable::open(path);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_NE(read->find(key_of(problem_of(64, 64, 64))), nullptr);
  std::filesystem::remove(path);
  const auto missing = PlanTable::open(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace gemmsmith::plan
