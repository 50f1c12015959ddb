// The owners of driver objects, on a fake driver whose device memory is host memory.
#include "device/cuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>

#include "device/fake_driver.h"
#include "device/scoped_environment.h"

namespace gemmsmith {
namespace {

using test::ScopedEnvironment;

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER, 1);
    ::setenv("GEMMSMITH_NVML", GEMMSMITH_FAKE_DRIVER, 1);
    const auto loaded = load_driver();
    ASSERT_TRUE(loaded) << loaded.error().what;
    driver_ = *loaded;
  }
  const Driver& driver() const { return *driver_; }

  static std::int64_t live_allocations() {
    void* library = dlopen(GEMMSMITH_FAKE_DRIVER, RTLD_NOW);
    using Count = std::int64_t();
    const auto count = reinterpret_cast<Count*>(dlsym(library, "fake_cuda_live_allocations"));
    return count();
  }

 private:
  const Driver* driver_ = nullptr;
};

TEST_F(Cuda, ContextReadsTheDevicesNumbers) {
  const auto context = CudaContext::open(0);
  ASSERT_TRUE(context) << context.error().what;
  const auto info = query_device(context->driver(), 0);
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->target.name, "NVIDIA H200");
  EXPECT_EQ(info->target.compute_capability, 90);
  EXPECT_EQ(info->target.sm_count, 132);
  EXPECT_EQ(info->target.l2_bytes, 60 << 20);
  EXPECT_EQ(info->target.shared_bytes_per_block, 227 << 10);
  EXPECT_DOUBLE_EQ(info->target.sm_clock_mhz, 1980);
  EXPECT_NEAR(info->target.memory_bytes_per_s, 4.917e12, 1e9);
  EXPECT_EQ(info->uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(info->cuda_version, 13000);
  EXPECT_FALSE(info->driver_version.empty());
}

TEST_F(Cuda, UnknownOrdinalTellsWhichExist) {
  const auto context = CudaContext::open(3);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(context.error().what, "no device cuda:3: this machine has 1 GPU, cuda:0");
  const ScopedEnvironment devices("FAKE_CUDA_DEVICES", "4");
  EXPECT_EQ(CudaContext::open(7).error().what,
            "no device cuda:7: this machine has 4 GPUs, cuda:0 to cuda:3");
}

TEST_F(Cuda, GpuThatIsNotSm80OrSm90IsRefused) {
  const ScopedEnvironment capability("FAKE_CUDA_CAPABILITY", "70");
  const ScopedEnvironment name("FAKE_CUDA_NAME", "Tesla V100-SXM2-16GB");
  const auto context = CudaContext::open(0);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(context.error().what,
            "cannot use cuda:0 (Tesla V100-SXM2-16GB): compute capability 7.0: gemmsmith has "
            "kernels for 8.0 (A100) and 9.0 (H100, H200); choose another device");
}

TEST_F(Cuda, ContextThatCannotBeMadeSaysWhy) {
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain=2");
  const auto context = CudaContext::open(0);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().what,
            "cannot create a context on cuda:0 (NVIDIA H200): CUDA_ERROR_OUT_OF_MEMORY: as the "
            "test planned; is it out of memory or in exclusive mode?");
}

TEST_F(Cuda, BuffersHoldWhatWasCopiedAndFreeThemselves) {
  const std::int64_t before = live_allocations();
  {
    auto buffer = DeviceBuffer::allocate(driver(), 12);
    ASSERT_TRUE(buffer) << buffer.error().what;
    const std::array<int, 3> sent = {1, 2, 3};
    std::array<int, 3> received = {};
    ASSERT_TRUE(copy_to_device(driver(), buffer->address(), sent.data(), 12, nullptr));
    DeviceBuffer moved = std::move(*buffer);
    EXPECT_EQ(moved.size(), 12U);
    EXPECT_EQ(live_allocations(), before + 1);
    ASSERT_TRUE(copy_to_host(driver(), received.data(), moved.address(), 12, nullptr));
    EXPECT_EQ(received, sent);
  }
  EXPECT_EQ(live_allocations(), before);
}

TEST_F(Cuda, ModulesLoadWhileAnotherThreadCaptures) {
  const ScopedEnvironment capture("FAKE_CUDA_GLOBAL_CAPTURE", "1");
  EXPECT_TRUE(Module::load(driver(), std::string_view("fake\0", 5), "a kernel"));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  driver().ThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the thread's own mode is back";
}

TEST_F(Cuda, AnEmptyBufferNeedsNoDriver) {
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuMemAlloc_v2=2");
  const auto buffer = DeviceBuffer::allocate(driver(), 0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->pointer(), nullptr);
}

TEST_F(Cuda, FailedAllocationTellsSizeAndWhatIsFree) {
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuMemAlloc_v2=2");
  const auto buffer = DeviceBuffer::allocate(driver(), 4096);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().what,
            "cannot allocate 4096 bytes of device memory (1000 free): CUDA_ERROR_OUT_OF_MEMORY: as "
            "the test planned");
}

TEST_F(Cuda, ModulesAndTheirKernels) {
  const auto module = Module::load(driver(), "fake nothing", "test:m1");
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_TRUE(module->function("gemm"));
  const auto missing = module->function("other");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what,
            "test:m1 has no kernel 'other': CUDA_ERROR_NOT_FOUND: as the test planned");
  const auto garbage = Module::load(driver(), "garbage", "test:m2");
  ASSERT_FALSE(garbage);
  EXPECT_EQ(garbage.error().what,
            "cannot load the 7-byte cubin of test:m2: CUDA_ERROR_INVALID_IMAGE: as the test "
            "planned");
}

TEST_F(Cuda, GraphsReplayWhatWasCaptured) {
  auto stream = Stream::create(driver());
  ASSERT_TRUE(stream);
  auto buffer = DeviceBuffer::allocate(driver(), 4);
  ASSERT_TRUE(buffer);
  int value = -1;
  const auto enqueue = [&](CUstream capturing) {
    return check(driver(), driver().MemsetD32Async(buffer->address(), 7, 1, capturing), "setting");
  };
  ASSERT_TRUE(copy_to_device(driver(), buffer->address(), &value, 4, nullptr));
  const auto graph = GraphExec::capture(driver(), stream->get(), enqueue);
  ASSERT_TRUE(graph) << graph.error().what;
  ASSERT_TRUE(copy_to_host(driver(), &value, buffer->address(), 4, nullptr));
  EXPECT_EQ(value, -1) << "capturing must not run anything";
  ASSERT_TRUE(graph->upload(stream->get()));
  ASSERT_TRUE(graph->launch(stream->get()));
  ASSERT_TRUE(copy_to_host(driver(), &value, buffer->address(), 4, nullptr));
  EXPECT_EQ(value, 7);
}

TEST_F(Cuda, AFailedCaptureLeavesTheStreamUsable) {
  auto stream = Stream::create(driver());
  ASSERT_TRUE(stream);
  const auto failing = [](CUstream) -> Result<void> {
    return fail(ErrorCode::kDevice, "no launch today");
  };
  const auto graph = GraphExec::capture(driver(), stream->get(), failing);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what, "no launch today");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  driver().StreamIsCapturing(stream->get(), &status);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Cuda, EventsMeasureTime) {
  const auto start = Event::create(driver());
  const auto stop = Event::create(driver());
  ASSERT_TRUE(start && stop);
  ASSERT_TRUE(start->record(nullptr));
  ASSERT_TRUE(stop->record(nullptr));
  ASSERT_TRUE(stop->synchronize());
  const auto time = elapsed_us(*start, *stop);
  ASSERT_TRUE(time);
  EXPECT_GE(*time, 0);
}

TEST_F(Cuda, AsynchronousFaultsShowUpInSynchronize) {
  const auto context = CudaContext::open(0);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->synchronize());
  const ScopedEnvironment failure("FAKE_CUDA_FAIL", "cuCtxSynchronize=700");
  EXPECT_EQ(context->synchronize().error().what,
            "waiting for the device failed: CUDA_ERROR_ILLEGAL_ADDRESS: as the test planned");
}

}  // namespace
}  // namespace gemmsmith
