// A warm call allocates nothing: the C library's allocator is counted while it runs.
#include "plan/plan_table_writer.h"
#include "runtime/counted_malloc.h"
#include "runtime/fixture.h"
#include "runtime/table_maker.h"
#include "runtime/translate.h"

namespace gemmsmith::runtime {
namespace {

class AllocationTest : public RuntimeTest {
 protected:
  static int allocations_of(Product& product, gemmsmithHandle_t handle, float alpha, float beta) {
    gemmsmithStatus_t status = GEMMSMITH_STATUS_SUCCESS;
    const int allocations = allocations_during([&] { status = product.run(handle, alpha, beta); });
    EXPECT_EQ(status, GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    return allocations;
  }
};

TEST_F(AllocationTest, TheCounterCounts) {
  int* number = nullptr;
  EXPECT_EQ(allocations_during([&] { number = new int(1); }), 1);
  delete number;
}

TEST_F(AllocationTest, WarmFallbackAllocatesNothing) {
  Product product;
  ASSERT_EQ(product.run_and_compare(handle_, 1, 1), "");
  EXPECT_EQ(allocations_of(product, handle_, 1, 1), 0);
  EXPECT_EQ(allocations_of(product, handle_, 2, 3), 0);
}

TEST_F(AllocationTest, WarmScalingAllocatesNothing) {
  Product product;
  ASSERT_EQ(product.run_and_compare(handle_, 0, 1), "");
  EXPECT_EQ(allocations_of(product, handle_, 0, 1), 0);
}

TEST_F(AllocationTest, WarmPlansAllocateNothingEvenForNewPointers) {
  ProductOptions options;
  options.m = options.n = options.k = 64;
  Product product(options);
  Product other(options);
  plan::PlanTableWriter writer({"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"});
  const auto config = parse_config("sm90_ws:s2", kernel_families());
  ASSERT_TRUE(config);
  ASSERT_TRUE(writer.add_kernel_plan(to_row_major(product.problem), *config, *known_target("h200"),
                                     {std::string("FAKE gemm tn maps f16\0", 22), "gemm", 128, 0},
                                     {}));
  const auto bytes = writer.bytes();
  ASSERT_TRUE(bytes);
  ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, bytes->data(), bytes->size()),
            GEMMSMITH_STATUS_SUCCESS);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  const int encoded = gpu().maps_encoded;
  EXPECT_EQ(allocations_of(product, handle_, 1, 0), 0);
  EXPECT_EQ(gpu().maps_encoded, encoded);  // bound already
  EXPECT_EQ(allocations_of(other, handle_, 1, 0), 0);
  EXPECT_GT(gpu().maps_encoded, encoded);
}

TEST_F(AllocationTest, WarmSplitsThroughTheWorkspaceAllocateNothing) {
  ProductOptions options;
  options.m = options.n = 64;
  options.k = 256;
  Product product(options);
  const std::string bytes = TableMaker().kernel(product, "sm90_ws:e1.s2.sp2.sk2").bytes();
  ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, bytes.data(), bytes.size()),
            GEMMSMITH_STATUS_SUCCESS);
  for (const std::size_t workspace : {std::size_t{1} << 15, std::size_t{0}}) {
    product.workspace_bytes = workspace;
    ASSERT_EQ(product.run_and_compare(handle_), "");
    const int on_the_device = gpu().allocations;
    EXPECT_EQ(allocations_of(product, handle_, 1, 0), 0);
    EXPECT_EQ(gpu().allocations, on_the_device);
  }
}

}  // namespace
}  // namespace gemmsmith::runtime
