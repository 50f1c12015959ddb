// Calls whose operands no 16-byte load can read, served by plans that pack them: exact, whichever
// workspace the copies lie in.
#include <cuda.h>

#include <memory>

#include "runtime/scratch_pool.h"
#include "runtime/table_test.h"

namespace gemmsmith::runtime {
namespace {

constexpr const char* kPacksWithMaps = "sm90_ws:e1.s2.pk3";
constexpr const char* kPacksPlain = "sm80_mma:s2.pk3";

class PackingTest : public TableTest {
 protected:
  // An odd k, and bases on odd elements.
  PackingTest() {
    options_.k = 67;
    options_.offset_a = options_.offset_b = 1;
  }
  void load(const Product& product, const char* config) {
    TableTest::load(TableMaker().kernel(product, config));
  }
  // "packed", "cublaslt" or what is wrong.
  std::string served_by(Product& product) {
    const int packs = gpu().packs;
    const int launches = gpu().launches;
    const std::string difference = product.run_and_compare(handle_);
    if (difference != "") return difference;
    if (gpu().packs == packs + 1 && gpu().launches == launches + 2) return "packed";
    return gpu().launches == launches ? "cublaslt" : "a kernel alone";
  }
  static std::size_t needed(const Product& product) {
    // Lines of op(A) and op(B), 67 elements in 128.
    return static_cast<std::size_t>((product.problem.m + product.problem.n) * 128 * 2);
  }
};

TEST_F(PackingTest, OddBasesAndLeadingDimensionsAreExactInEveryLayout) {
  for (const std::int32_t transa : {GEMMSMITH_OP_T, GEMMSMITH_OP_N})
    for (const std::int32_t transb : {GEMMSMITH_OP_N, GEMMSMITH_OP_T})
      for (const std::int32_t type : {GEMMSMITH_R_16F, GEMMSMITH_R_16BF})
        for (const char* config : {kPacksWithMaps, kPacksPlain}) {
          const bool is_tn = transa == GEMMSMITH_OP_T && transb == GEMMSMITH_OP_N;
          if (config == kPacksPlain && !is_tn) continue;  // sm80_mma reads no other layout
          ProductOptions options = options_;
          options.transa = transa;
          options.transb = transb;
          options.type = type;
          options.pad_a = transa == GEMMSMITH_OP_T ? 0 : 1;
          options.pad_b = transb == GEMMSMITH_OP_N ? 2 : 1;
          Product product(options);
          load(product, config);
          EXPECT_EQ(served_by(product), "packed") << config << ' ' << transa << ' ' << transb;
        }
}

// One plan of the class serves any odd leading dimension, and each call its own pointers.
TEST_F(PackingTest, OnePlanServesItsAlignmentClass) {
  Product planned(options_);
  load(planned, kPacksWithMaps);
  for (const std::int64_t pad : {0, 2, 4, 62}) {
    options_.pad_a = options_.pad_b = pad;
    Product product(options_);
    EXPECT_EQ(served_by(product), "packed") << pad;
    EXPECT_EQ(served_by(product), "packed") << pad << ", from what is remembered";
  }
}

TEST_F(PackingTest, TheCallersWorkspaceIsUsedWhereItIsLargeEnough) {
  Product product(options_);
  load(product, kPacksWithMaps);
  std::size_t bytes = 0;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  const int allocated = gpu().allocations;
  product.workspace_bytes = needed(product);
  EXPECT_EQ(served_by(product), "packed");
  EXPECT_EQ(gpu().allocations, allocated);
  product.workspace_bytes = needed(product) - 1;
  EXPECT_EQ(served_by(product), "packed") << "in a workspace of ours";
  EXPECT_EQ(gpu().allocations, allocated + 1);
  product.workspace_bytes = 0;
  EXPECT_EQ(served_by(product), "packed");
  EXPECT_EQ(gpu().allocations, allocated + 1) << "of the stream, from its first call on";
  product.workspace_bytes = needed(product);
  EXPECT_EQ(served_by(product), "packed") << "and back again";
}

TEST_F(PackingTest, StreamsPackIntoWorkspacesOfTheirOwn) {
  Product product(options_);
  product.workspace_bytes = 0;
  load(product, kPacksWithMaps);
  const int allocated = gpu().allocations;
  for (int round = 0; round < 2; ++round)
    for (const std::uintptr_t stream : {std::uintptr_t{1} << 12, std::uintptr_t{2} << 12}) {
      product.stream = reinterpret_cast<gemmsmithStream_t>(stream);
      EXPECT_EQ(served_by(product), "packed") << round;
    }
  EXPECT_EQ(gpu().allocations, allocated + 2);
}

// A graph may be replayed on any stream: only the caller's workspace will do.
TEST_F(PackingTest, CapturesPackIntoTheCallersWorkspaceOnly) {
  Product product(options_);
  load(product, kPacksWithMaps);
  const int loaded = gpu().modules_loaded;
  gpu().is_capturing = true;
  product.workspace_bytes = needed(product);
  EXPECT_EQ(served_by(product), "packed");
  product.workspace_bytes = 0;
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_EQ(gpu().modules_loaded, loaded) << "both kernels came with the table";
}

TEST_F(PackingTest, FailedTensorMapsAreLeftToCublasLtAndTriedAgain) {
  Product product(options_);
  load(product, kPacksWithMaps);
  gpu().fail_encode = true;
  EXPECT_EQ(served_by(product), "cublaslt");
  gpu().fail_encode = false;
  EXPECT_EQ(served_by(product), "packed");
}

}  // namespace
}  // namespace gemmsmith::runtime
