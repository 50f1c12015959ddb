// Which plan of a table serves a call, and when it must not.
#include <cuda.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/choice.h"
#include "runtime/table_test.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::runtime {
namespace {

class PlanTest : public TableTest {
 protected:
  // "kernel", "vendor" or "cublaslt": what the call was served by.
  std::string served_by(Product& product, float alpha = 1, float beta = 0) {
    const int launches = gpu().launches;
    const int vendor_calls = fake_lt().matmul_calls;
    const int heuristics = fake_lt().heuristic_calls;
    const std::string difference = product.run_and_compare(handle_, alpha, beta);
    if (difference != "") return difference;
    if (gpu().launches == launches + 1) return "kernel";
    if (fake_lt().matmul_calls != vendor_calls + 1) return "nothing";
    return fake_lt().heuristic_calls == heuristics ? "vendor" : "cublaslt";
  }
};

TEST_F(PlanTest, KernelServesItsProblem) {
  for (const char* config : {kWithMaps, kPlain}) {
    Product product(options_);
    ASSERT_EQ(try_load(TableMaker().kernel(product, config)), GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(served_by(product), "kernel");
    EXPECT_EQ(served_by(product), "kernel");
  }
}

// A plan is for one type of D: sums that f16 cannot hold are whole in f32.
TEST_F(PlanTest, F32ResultsHavePlansOfTheirOwn) {
  Product half(options_);
  Product product(options_);
  product.problem.output = GEMMSMITH_OUTPUT_32F;
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t p = 0; p < 64; ++p) {
      product.a.set(p, i, 64);
      product.b.set(p, i, 64);
    }
  std::vector<float> d(64 * 64, -1);
  const auto run = [&] {
    const float one = 1, zero = 0;
    return gemmsmithMatmul(handle_, &product.problem, &one, product.a.data(), product.b.data(),
                           &zero, nullptr, d.data(), nullptr, 0, nullptr);
  };
  ASSERT_EQ(try_load(TableMaker().kernel(half, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(half), "kernel");
  int launches = gpu().launches;
  ASSERT_EQ(run(), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
  EXPECT_EQ(gpu().launches, launches) << "f16's plan is not f32's";
  for (const char* config : {kWithMaps, kPlain}) {
    ASSERT_EQ(try_load(TableMaker().kernel(half, kWithMaps).kernel(product, config)),
              GEMMSMITH_STATUS_SUCCESS);
    launches = gpu().launches;
    std::fill(d.begin(), d.end(), -1.0F);
    ASSERT_EQ(run(), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    EXPECT_EQ(gpu().launches, launches + 1);
    for (const float value : d) ASSERT_EQ(value, 64 * 64 * 64);
    EXPECT_EQ(served_by(half), "kernel");
  }
}

// A plan's speed is known for the work it was tuned with only: D = A B, D = alpha A B or
// D = alpha A B + beta C.
TEST_F(PlanTest, ScalarsThatAskForOtherWorkAreLeftToCublasLt) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 1, 0), "kernel");
  EXPECT_EQ(served_by(product, 2, 0), "cublaslt");
  EXPECT_EQ(served_by(product, 1, 1), "cublaslt");
  EXPECT_EQ(served_by(product, 1, 0), "kernel");
  product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
  EXPECT_EQ(served_by(product, 1, 0), "cublaslt") << "values on the device may be any";
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_REJECTED);
  EXPECT_STREQ(info.reason, "the plan was tuned for other alpha and beta");
}

TEST_F(PlanTest, PlansServeTheWorkTheyWereTunedWith) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps, 2, 0)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 3, 0), "kernel");
  EXPECT_EQ(served_by(product, 1, 0), "cublaslt");
  EXPECT_EQ(served_by(product, 3, 1), "cublaslt");
  ASSERT_EQ(try_load(TableMaker().kernel(product, kPlain, 2, 1)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 3, -1), "kernel");
  EXPECT_EQ(served_by(product, 1, 1), "kernel");
  EXPECT_NE(served_by(product, 1, 0), "kernel");
  EXPECT_STREQ(plan_info(handle_, product.problem).reason,
               "the plan was tuned for other alpha and beta");
}

TEST_F(PlanTest, OneTableHoldsAPlanForEachWork) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker()
                         .kernel(product, kWithMaps)
                         .kernel(product, kPlain, 2, 0)
                         .kernel(product, kPlainSmall, 1, 1)),
            GEMMSMITH_STATUS_SUCCESS);
  EXPECT_STREQ(plan_info(handle_, product.problem).config, kWithMaps);
  for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {2.0F, 0.0F}, {2.0F, 1.0F}})
    EXPECT_EQ(served_by(product, alpha, beta), "kernel");
  product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
  EXPECT_STREQ(plan_info(handle_, product.problem).config, kPlainSmall);
}

TEST_F(PlanTest, InfoTellsWhatServes) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_KERNEL);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_EXACT);
  EXPECT_STREQ(info.config, kWithMaps);
  EXPECT_STREQ(info.reason, "");
  EXPECT_EQ(info.expected_speedup, 1.25F);
  EXPECT_EQ(info.workspace_bytes, 0U);
}

TEST_F(PlanTest, InfoTellsWhyNothingServes) {
  Product product(options_);
  gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_CUBLASLT);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_NONE);
  EXPECT_STREQ(info.reason, "no plan table is loaded for this device");
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  ++product.problem.m;
  ++product.problem.ldc;
  ++product.problem.ldd;
  info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_NONE);
  EXPECT_STREQ(info.config, "");
  EXPECT_EQ(info.workspace_bytes, 64U << 20);
}

TEST_F(PlanTest, WorkspaceSizeIsWhatThePlanNeeds) {
  Product product(options_);
  std::size_t bytes = 7;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, std::size_t{64} << 20);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0U);
  product.problem.k = 0;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0U);
}

// A8: a plan made for aligned pointers is not replayed on others; each operand counts.
TEST_F(PlanTest, UnalignedPointersAreNotServedByAlignedPlans) {
  for (const auto offset :
       {&ProductOptions::offset_a, &ProductOptions::offset_b, &ProductOptions::offset_d}) {
    ProductOptions options = options_;
    options.*offset = 1;
    Product product(options);
    ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(served_by(product), "cublaslt");
  }
}

// A8: offsets of 8 elements keep 16 bytes, which is all that a kernel needs.
TEST_F(PlanTest, SixteenByteAlignmentIsEnough) {
  options_.offset_a = options_.offset_b = options_.offset_c = options_.offset_d = 8;
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps, 1, 1)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 1, 1), "kernel");
}

// A3, A6: leading dimensions whose bytes are no multiple of 16.
TEST_F(PlanTest, OddLeadingDimensionsAreNotServed) {
  for (const auto pad : {&ProductOptions::pad_a, &ProductOptions::pad_b, &ProductOptions::pad_d}) {
    ProductOptions options = options_;
    options.*pad = 1;
    Product packed(options_);
    ASSERT_EQ(try_load(TableMaker().kernel(packed, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
    Product product(options);
    EXPECT_EQ(served_by(product), "cublaslt");
    const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
    EXPECT_EQ(info.match, GEMMSMITH_MATCH_REJECTED);
    EXPECT_STREQ(info.reason, "a pointer is less aligned than the plan needs");
  }
}

TEST_F(PlanTest, PaddedLeadingDimensionsAreServed) {
  Product packed(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(packed, kWithMaps, 1, 1)), GEMMSMITH_STATUS_SUCCESS);
  options_.pad_a = 8;
  options_.pad_b = 16;
  options_.pad_c = 24;
  options_.pad_d = 32;
  Product product(options_);
  EXPECT_EQ(served_by(product, 1, 1), "kernel");
}

// Other transposes, types and accumulators are other problems.
TEST_F(PlanTest, OtherProblemsOfTheSameSizeAreNotServed) {
  Product planned(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(planned, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  ProductOptions options = options_;
  options.transa = GEMMSMITH_OP_N;
  EXPECT_EQ(served_by(*std::make_unique<Product>(options)), "cublaslt");
  options = options_;
  options.type = GEMMSMITH_R_16BF;
  EXPECT_EQ(served_by(*std::make_unique<Product>(options)), "cublaslt");
  options = options_;
  options.compute_type = GEMMSMITH_COMPUTE_16F;
  EXPECT_EQ(served_by(*std::make_unique<Product>(options)), "cublaslt");
}

TEST_F(PlanTest, DeviceScalarsReachTheKernel) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps, 1, 1)), GEMMSMITH_STATUS_SUCCESS);
  product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
  EXPECT_EQ(served_by(product, 2, 3), "kernel");
  EXPECT_EQ(served_by(product, 1, 0), "kernel");
  EXPECT_EQ(served_by(product, 0, 1), "kernel");
}

TEST_F(PlanTest, HalfDeviceScalarsAreLeftToCublasLt) {
  options_.compute_type = GEMMSMITH_COMPUTE_16F;
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps, 1, 1)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 2, 3), "kernel");
  product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
  EXPECT_EQ(served_by(product, 2, 3), "cublaslt");
  EXPECT_STREQ(plan_info(handle_, product.problem).reason,
               "kernels do not read half-precision alpha and beta from the device");
}

// N4, N7: another architecture, name or number of SMs (MIG) has other winners.
TEST_F(PlanTest, TableForAnotherDeviceIsRefused) {
  Product product(options_);
  TableOptions other;
  other.device_name = "NVIDIA A100";
  other.compute_capability = 80;
  other.sm_count = 108;
  EXPECT_EQ(try_load(TableMaker(other).kernel(product, kWithMaps)), GEMMSMITH_STATUS_ARCH_MISMATCH);
  EXPECT_STREQ(gemmsmithGetLastErrorString(),
               "plan table from memory: made for NVIDIA A100 (sm_80, 108 SMs), but the current "
               "device is NVIDIA H200 (sm_90, 132 SMs); load a table made for it, or make the "
               "other device current first");
  EXPECT_EQ(served_by(product), "cublaslt");
  other = {};
  other.sm_count = 66;
  EXPECT_EQ(try_load(TableMaker(other).kernel(product, kWithMaps)), GEMMSMITH_STATUS_ARCH_MISMATCH);
}

// A table may be loaded before any context exists; plans then only serve its own device.
TEST_F(PlanTest, TableLoadedWithoutContextServesOnlyItsDevice) {
  Product product(options_);
  use_device(-1);
  TableOptions other;
  other.sm_count = 66;
  ASSERT_EQ(try_load(TableMaker(other).kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  use_device(0);
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_STREQ(plan_info(handle_, product.problem).reason,
               "no plan table is loaded for this device");
}

// N5: a kernel that the driver does not take.
TEST_F(PlanTest, KernelsThatDoNotLoadAreLeftToCublasLt) {
  Product product(options_);
  gpu().fail_module_load = true;
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt");
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_REJECTED);
  EXPECT_STREQ(info.reason, "the driver did not load the plan's kernel");
}

// N8: tensor maps that the driver does not encode.
TEST_F(PlanTest, FailedTensorMapsAreLeftToCublasLt) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  gpu().fail_encode = true;
  EXPECT_EQ(served_by(product), "cublaslt");
}

TEST_F(PlanTest, FailedLaunchIsReported) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  gpu().fail_launch = true;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_EXECUTION_FAILED);
  EXPECT_STREQ(gemmsmithGetLastErrorString(),
               "launching a kernel of the plan table failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: "
               "made up by the fake driver");
}

TEST_F(PlanTest, VendorPlanServesItsProblem) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().vendor(product, kVendor)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "vendor");
  EXPECT_EQ(served_by(product), "vendor");
  EXPECT_EQ(served_by(product, 2, 1), "cublaslt");
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_VENDOR);
  EXPECT_STREQ(info.config, kVendor);
  ASSERT_EQ(try_load(TableMaker().vendor(product, kVendor, 0, 1)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product, 2, 1), "vendor");
  product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
  EXPECT_EQ(served_by(product, 2, 1), "vendor");
}

// A plan names the library's exact version.
TEST_F(PlanTest, VendorPlansOfAnotherVersionAreNotServed) {
  Product product(options_);
  TableOptions older;
  older.cublas_version = "12.9.1";
  ASSERT_EQ(try_load(TableMaker(older).vendor(product, kVendor)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_STREQ(plan_info(handle_, product.problem).reason,
               "the plan belongs to another version of cuBLASLt");
}

TEST_F(PlanTest, VendorPlansThatFailTheirCheckAreNotServed) {
  Product product(options_);
  fake_lt().has_hopper_kernels = false;
  ASSERT_EQ(try_load(TableMaker().vendor(product, kVendor)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_STREQ(plan_info(handle_, product.problem).reason,
               "cuBLASLt does not accept the plan's configuration here");
}

// A plan that needs more workspace than a call gives does not serve that call, but the next.
TEST_F(PlanTest, WorkspaceDecidesCallByCall) {
  Product product(options_);
  const std::int64_t needed = 2 * 64 * 64 * 4;
  ASSERT_EQ(try_load(TableMaker().vendor(product, "cublaslt:a66.t20.s35.k2.r2", needed)),
            GEMMSMITH_STATUS_SUCCESS);
  std::size_t bytes = 0;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, static_cast<std::size_t>(needed));
  product.workspace_bytes = 256;
  EXPECT_EQ(served_by(product), "cublaslt");
  product.workspace_bytes = bytes;
  EXPECT_EQ(served_by(product), "vendor");
  product.workspace_bytes = 256;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(fake_lt().heuristic_calls, 1);
}

// The table may say more than the algorithm needs; the library knows.
TEST_F(PlanTest, VendorPlansAskForWhatTheirAlgorithmNeeds) {
  Product product(options_);
  const std::int64_t needed = 2 * 64 * 64 * 4;
  ASSERT_EQ(try_load(TableMaker().vendor(product, "cublaslt:a66.t20.s35.k2.r2", 64 << 20)),
            GEMMSMITH_STATUS_SUCCESS);
  std::size_t bytes = 0;
  ASSERT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(bytes, static_cast<std::size_t>(needed));
  product.workspace_bytes = bytes;
  EXPECT_EQ(served_by(product), "vendor");
}

// I1: another thread's capture in global mode forbids what might disturb it: loading neither
// spoils it nor fails.
TEST_F(PlanTest, LoadingLeavesOtherThreadsCapturesAlone) {
  Product product(options_);
  ASSERT_EQ(gemmsmithDestroy(handle_), GEMMSMITH_STATUS_SUCCESS);
  gpu().another_thread_captures = true;
  ASSERT_EQ(gemmsmithCreate(&handle_), GEMMSMITH_STATUS_SUCCESS);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "kernel");
  EXPECT_EQ(product.run_and_compare(handle_, 0, 2), "");
  use_device(1);
  EXPECT_EQ(served_by(product), "kernel") << "loaded by the call";
  EXPECT_EQ(gpu().captures_spoiled, 0);
}

// I1: kernels are on the device once the table is loaded; nothing is loaded during capture.
TEST_F(PlanTest, CaptureUsesResidentKernels) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  const int loaded = gpu().modules_loaded;
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "kernel");
  EXPECT_EQ(gpu().modules_loaded, loaded);
}

// I1, I8: a context whose kernels are not there yet captures cuBLASLt's, and gets ours later.
TEST_F(PlanTest, CaptureWithoutResidentKernelsUsesCublasLt) {
  Product product(options_);
  use_device(1);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  use_device(-1);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  use_device(1);
  gpu().is_capturing = true;
  const int launches = gpu().launches;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().launches, launches);
  gpu().is_capturing = false;
  EXPECT_EQ(served_by(product), "kernel");
}

TEST_F(PlanTest, NewTableReplacesTheOldOne) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "kernel");
  ASSERT_EQ(try_load(TableMaker().vendor(product, kVendor)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "vendor");
}

// What one handle remembers is nothing to another, even at the same address.
TEST_F(PlanTest, HandlesDoNotShareWhatTheyRemember) {
  Product product(options_);
  ASSERT_EQ(try_load(TableMaker().kernel(product, kWithMaps)), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "kernel");
  ASSERT_EQ(gemmsmithDestroy(handle_), GEMMSMITH_STATUS_SUCCESS);
  ASSERT_EQ(gemmsmithCreate(&handle_), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt");
}

TEST_F(PlanTest, EveryTruncationIsRefusedAndTheTableInUseStays) {
  Product product(options_);
  const TableMaker maker = std::move(TableMaker().kernel(product, kWithMaps));
  ASSERT_EQ(try_load(maker), GEMMSMITH_STATUS_SUCCESS);
  const std::string bytes = maker.bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 16)
    ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, bytes.data(), size),
              GEMMSMITH_STATUS_INVALID_VALUE)
        << size;
  EXPECT_EQ(served_by(product), "kernel");
}

TEST_F(PlanTest, DamagedBytesAreRefused) {
  Product product(options_);
  const std::string bytes = TableMaker().kernel(product, kWithMaps).bytes();
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, damaged.data(), damaged.size()),
              GEMMSMITH_STATUS_INVALID_VALUE)
        << at;
  }
}

TEST_F(PlanTest, TableFilesAreLoaded) {
  Product product(options_);
  const auto path = std::filesystem::temp_directory_path() / "gemmsmith_runtime_test.plan";
  {
    const std::string bytes = TableMaker().kernel(product, kWithMaps).bytes();
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_EQ(gemmsmithLoadPlanTable(handle_, path.c_str()), GEMMSMITH_STATUS_SUCCESS)
      << gemmsmithGetLastErrorString();
  EXPECT_EQ(served_by(product), "kernel");
  std::filesystem::remove(path);
}

TEST_F(PlanTest, MissingFilesAndNullsAreNamed) {
  EXPECT_EQ(gemmsmithLoadPlanTable(handle_, "/nowhere/h200.plan"), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_NE(std::string(gemmsmithGetLastErrorString()).find("/nowhere/h200.plan"),
            std::string::npos);
  EXPECT_EQ(gemmsmithLoadPlanTable(handle_, nullptr), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "path is NULL: pass a plan table's file name");
  EXPECT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, nullptr, 4), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "data is NULL: pass a plan table's bytes");
  Product product(options_);
  EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &product.problem, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "info is NULL: pass a gemmsmithPlanInfo_t");
  gemmsmithPlanInfo_t info = {};
  EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &product.problem, &info), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemmsmithGetWorkspaceSize(handle_, &product.problem, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "bytes is NULL: pass the address of a size_t");
}

// BUG: the driver was asked before the arguments, and where nothing depends on a device.
TEST_F(PlanTest, WhatNoPlanServesIsKnownWithoutADevice) {
  Product planned(options_);
  options_.k = 96;
  Product other(options_);
  use_device(-1);
  gpu().fail_context = true;
  const auto expect_unplanned = [&](const gemmsmithProblem_t& problem, const char* reason) {
    const gemmsmithPlanInfo_t info = plan_info(handle_, problem);
    EXPECT_EQ(info.source, GEMMSMITH_SOURCE_CUBLASLT);
    EXPECT_EQ(info.match, GEMMSMITH_MATCH_NONE);
    EXPECT_EQ(info.workspace_bytes, 64U << 20);
    EXPECT_STREQ(info.reason, reason);
    std::size_t bytes = 0;
    EXPECT_EQ(gemmsmithGetWorkspaceSize(handle_, &problem, &bytes), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(bytes, std::size_t{64} << 20);
  };
  expect_unplanned(planned.problem, reason_text(Rejection::kNoTable));
  load(TableMaker().kernel(planned, kWithMaps));
  expect_unplanned(other.problem, reason_text(Rejection::kNoPlan));
  other.problem.n = 0;
  EXPECT_EQ(plan_info(handle_, other.problem).workspace_bytes, 0U);
  // Whether a plan serves is the device's to say; arguments come first.
  gemmsmithPlanInfo_t info = {};
  EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &planned.problem, &info), GEMMSMITH_STATUS_INVALID_VALUE);
  info.size = sizeof info;
  EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &planned.problem, &info),
            GEMMSMITH_STATUS_EXECUTION_FAILED);
  EXPECT_NE(std::string(gemmsmithGetLastErrorString()).find("primary context"), std::string::npos);
  planned.problem.m = -1;
  EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &planned.problem, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "m = -1: a size must not be negative");
}

// J1, J6, J11: 32 threads start together on a cold handle, on same and different problems.
TEST_F(PlanTest, ManyThreadsShareAColdHandle) {
  std::vector<ProductOptions> shapes;
  TableMaker maker;
  for (int i = 0; i < 8; ++i) {
    ProductOptions options;
    options.m = 64 + 8 * i;
    options.n = 24;
    options.k = 32;
    shapes.push_back(options);
    Product product(options);
    if (i % 3 == 0) maker.kernel(product, kPlainSmall, 1, 1);
    if (i % 3 == 1) maker.vendor(product, kVendor, 0, 1);
  }
  use_device(-1);
  ASSERT_EQ(try_load(maker), GEMMSMITH_STATUS_SUCCESS);
  std::atomic<bool> go{false};
  std::vector<std::string> failures(32);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      use_device(static_cast<int>(t % 2));
      while (!go) std::this_thread::yield();
      for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          Product product(shapes[(i + t) % shapes.size()]);
          if (auto difference = product.run_and_compare(handle_, 1, 1); difference != "")
            failures[t] = difference;
        }
    });
  go = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// A table may be replaced while other threads multiply.
TEST_F(PlanTest, TablesMayBeReplacedDuringCalls) {
  Product shape(options_);
  const TableMaker kernel = std::move(TableMaker().kernel(shape, kPlain));
  const TableMaker vendor = std::move(TableMaker().vendor(shape, kVendor));
  std::atomic<bool> done{false};
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::string& failure : failures)
    threads.emplace_back([&] {
      use_device(0);
      Product product(options_);
      while (!done)
        if (auto difference = product.run_and_compare(handle_); difference != "")
          failure = difference;
    });
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(try_load(i % 2 == 0 ? kernel : vendor), GEMMSMITH_STATUS_SUCCESS);
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace gemmsmith::runtime
