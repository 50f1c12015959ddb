// runtime_test.cpp -- the C API on a real GPU with the real cuBLASLt: exact products for every
// layout, plans that are captured, shared by threads and chained, and what a call costs the host.
// Prints one key=value line a figure. Without a GPU or NVRTC each test is skipped and says why.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <gemmsmith/gemmsmith.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "compile/compiler.h"
#include "compile/cubin_cache.h"
#include "device/cuda.h"
#include "plan/plan_table_writer.h"
#include "runtime/translate.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith::runtime {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int32_t transa = GEMMSMITH_OP_T;
  std::int32_t transb = GEMMSMITH_OP_N;
  std::int32_t type = GEMMSMITH_R_16F;
  std::int32_t compute_type = GEMMSMITH_COMPUTE_32F;
  std::int64_t pad = 0;     // of every leading dimension
  std::int64_t offset = 0;  // of every pointer, in elements
};

gemmsmithProblem_t problem_of(const Shape& s) {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = s.transa;
  problem.transb = s.transb;
  problem.type = s.type;
  problem.compute_type = s.compute_type;
  problem.m = s.m;
  problem.n = s.n;
  problem.k = s.k;
  problem.lda = (s.transa != 0 ? s.k : s.m) + s.pad;
  problem.ldb = (s.transb != 0 ? s.n : s.k) + s.pad;
  problem.ldc = problem.ldd = s.m + s.pad;
  return problem;
}

std::uint16_t encode(std::int32_t type, float value) {
  if (type == GEMMSMITH_R_16F) return __half_raw(__float2half(value)).x;
  return __nv_bfloat16_raw(__float2bfloat16(value)).x;
}

float decode(std::int32_t type, std::uint16_t bits) {
  if (type == GEMMSMITH_R_16F) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}

// Column-major, whole numbers -1, 0 and 1, with a guard on both sides. Sums stay below 256, which
// every type here holds exactly.
class Matrix {
 public:
  Matrix() = default;
  Matrix(const Driver& driver, const Shape& shape, std::int64_t rows, std::int64_t columns,
         std::int64_t ld, unsigned seed)
      : driver_(&driver),
        type_(shape.type),
        rows_(rows),
        columns_(columns),
        ld_(ld),
        begin_(kGuard + shape.offset) {
    host_.assign(static_cast<std::size_t>(2 * kGuard + shape.offset + ld * columns), kGuardWord);
    unsigned x = seed * 2654435761U + 1;
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) {
        x = x * 1664525U + 1013904223U;
        set(i, j, static_cast<float>(static_cast<int>((x >> 24) % 3) - 1));
      }
    auto memory = DeviceBuffer::allocate(driver, host_.size() * 2);
    EXPECT_TRUE(memory) << memory.error().what;
    device_ = *std::move(memory);
    original_ = host_;
    upload();
  }

  void set(std::int64_t i, std::int64_t j, float value) {
    host_[index(i, j)] = encode(type_, value);
  }
  float at(std::int64_t i, std::int64_t j) const { return decode(type_, host_[index(i, j)]); }
  void fill_nan() {
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) set(i, j, std::nanf(""));
    upload();
  }
  void upload() {
    EXPECT_TRUE(
        copy_to_device(*driver_, device_.address(), host_.data(), host_.size() * 2, nullptr));
  }
  void download() {
    EXPECT_TRUE(copy_to_host(*driver_, host_.data(), device_.address(), host_.size() * 2, nullptr));
  }
  void* data() const { return static_cast<std::uint16_t*>(device_.pointer()) + begin_; }
  // Words outside the elements that changed since construction.
  int damaged() const {
    int count = 0;
    for (std::size_t w = 0; w < host_.size(); ++w) {
      const std::int64_t at = static_cast<std::int64_t>(w) - begin_;
      const bool is_element = at >= 0 && at < ld_ * columns_ && at % ld_ < rows_;
      if (!is_element && host_[w] != original_[w]) ++count;
    }
    return count;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

 private:
  static constexpr std::int64_t kGuard = 1024;
  static constexpr std::uint16_t kGuardWord = 0x5A5A;
  std::size_t index(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(begin_ + i + j * ld_);
  }
  const Driver* driver_ = nullptr;
  std::int32_t type_ = 0;
  std::int64_t rows_ = 0, columns_ = 0, ld_ = 0, begin_ = 0;
  std::vector<std::uint16_t> host_, original_;
  DeviceBuffer device_;
};

class Product {
 public:
  Product(const Driver& driver, const Shape& shape)
      : problem(problem_of(shape)),
        a(driver, shape, shape.transa != 0 ? shape.k : shape.m,
          shape.transa != 0 ? shape.m : shape.k, problem.lda, 1),
        b(driver, shape, shape.transb != 0 ? shape.n : shape.k,
          shape.transb != 0 ? shape.k : shape.n, problem.ldb, 2),
        c(driver, shape, shape.m, shape.n, problem.ldc, 3),
        d(driver, shape, shape.m, shape.n, problem.ldd, 4),
        shape_(shape) {
    auto memory = DeviceBuffer::allocate(driver, kWorkspaceBytes);
    EXPECT_TRUE(memory) << memory.error().what;
    workspace_ = *std::move(memory);
    d.fill_nan();
  }

  gemmsmithStatus_t enqueue(gemmsmithHandle_t handle, CUstream stream, float alpha = 1,
                            float beta = 0, bool brings_workspace = true) const {
    const std::uint16_t half_alpha = encode(GEMMSMITH_R_16F, alpha);
    const std::uint16_t half_beta = encode(GEMMSMITH_R_16F, beta);
    const bool is_half = shape_.compute_type == GEMMSMITH_COMPUTE_16F;
    return gemmsmithMatmul(handle, &problem,
                           is_half ? static_cast<const void*>(&half_alpha) : &alpha, a.data(),
                           b.data(), is_half ? static_cast<const void*>(&half_beta) : &beta,
                           c.data(), d.data(), brings_workspace ? workspace_.pointer() : nullptr,
                           brings_workspace ? kWorkspaceBytes : 0, stream);
  }

  std::string difference(float alpha = 1, float beta = 0) {
    d.download();
    for (std::int64_t j = 0; j < shape_.n; ++j)
      for (std::int64_t i = 0; i < shape_.m; ++i) {
        float sum = 0;
        if (alpha != 0)
          for (std::int64_t p = 0; p < shape_.k; ++p)
            sum += (shape_.transa != 0 ? a.at(p, i) : a.at(i, p)) *
                   (shape_.transb != 0 ? b.at(j, p) : b.at(p, j));
        const float expected = alpha * sum + (beta != 0 ? beta * c.at(i, j) : 0);
        if (d.at(i, j) != expected)
          return fmt::format("D({}, {}) is {}, not {}", i, j, d.at(i, j), expected);
      }
    return d.damaged() == 0 ? "" : "something outside D was written";
  }

  gemmsmithProblem_t problem;
  Matrix a, b, c, d;

 private:
  Shape shape_;
  DeviceBuffer workspace_;
};

// One kernel of each family, two that split K, and a cuBLASLt configuration.
const Shape kPlanned{256, 192, 512};
const Shape kRagged{136, 200, 264};
const Shape kSplit{128, 64, 4096};
const Shape kWorkspaceSplit{136, 136, 4096};
const Shape kVendor{384, 256, 320};
// Square in m and k, so that D can be the next product's B.
const Shape kChain{256, 192, 256};
const Shape kShortChain{256, 64, 256};
// Its plan is launched without programmatic dependence, its follower with it.
const Shape kFollowed{256, 128, 256};

class GpuRuntime : public testing::Test {
 protected:
  void SetUp() override {
    auto context = CudaContext::open(0);
    if (!context) GTEST_SKIP() << "unavailable: " << context.error().what;
    context_ = std::make_unique<CudaContext>(*std::move(context));
    ASSERT_EQ(gemmsmithCreate(&handle_), GEMMSMITH_STATUS_SUCCESS);
  }
  void TearDown() override {
    if (context_ == nullptr) return;
    EXPECT_TRUE(context_->synchronize());
    EXPECT_EQ(gemmsmithDestroy(handle_), GEMMSMITH_STATUS_SUCCESS);
  }
  const Driver& driver() const { return context_->driver(); }

  // "" where the table was made and loaded, else why it cannot be.
  std::string load_table() {
    static const Result<std::string> table = make_table();
    if (!table) return table.error().what;
    const auto status = gemmsmithLoadPlanTableFromMemory(handle_, table->data(), table->size());
    EXPECT_EQ(status, GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    return "";
  }

  std::string source_of(const gemmsmithProblem_t& problem) {
    gemmsmithPlanInfo_t info = {};
    info.size = sizeof info;
    EXPECT_EQ(gemmsmithGetPlanInfo(handle_, &problem, &info), GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    return info.config[0] != '\0' ? info.config : std::string("heuristic: ") + info.reason;
  }

  std::unique_ptr<CudaContext> context_;
  gemmsmithHandle_t handle_ = nullptr;

 private:
  static Result<std::string> make_table() {
    GEMMSMITH_TRY(const Driver* driver, load_driver());
    GEMMSMITH_TRY(const DeviceInfo info, query_device(*driver, 0));
    GEMMSMITH_TRY(auto library, vendor::BlasLibrary::open());
    GEMMSMITH_TRY(auto lt, vendor::LtHandle::create(library));
    GEMMSMITH_TRY(auto compiler, compile::Compiler::open(compile::CubinCache::open_default()));
    GEMMSMITH_TRY(const std::string architecture,
                  compile_architecture(info.target.compute_capability));
    plan::PlanTableWriter writer({info.target.name, info.target.compute_capability,
                                  info.target.sm_count, library->version(), compiler.version()});
    const bool is_hopper = info.target.compute_capability == 90;
    using Role = plan::PlanTableWriter::Role;
    const std::tuple<Shape, const char*, Role> kernels[] = {
        {kFollowed, is_hopper ? "sm90_ws:s3.d0" : "sm80_mma:m32.d0", Role::kPlan},
        {kFollowed, is_hopper ? "sm90_ws:s3.pf1" : "sm80_mma:m32", Role::kFollower},
        {kPlanned, is_hopper ? "sm90_ws:m128.n64.w2" : "sm80_mma:m128", Role::kPlan},
        {kRagged, "sm80_mma:m64.n64", Role::kPlan},
        {kChain, is_hopper ? "sm90_ws:s3" : "sm80_mma:m32", Role::kPlan},
        {kShortChain, "sm80_mma:m32.n32", Role::kPlan},
        {kSplit, is_hopper ? "sm90_ws:e1.sp1.sk4" : "sm80_mma:m32.n32", Role::kPlan},
        {kWorkspaceSplit, is_hopper ? "sm90_ws:e1.s8.sp2.sk6" : "sm80_mma:m32.n32", Role::kPlan}};
    for (const auto& [shape, text, role] : kernels) {
      GEMMSMITH_TRY(const Config config, parse_config(text, kernel_families()));
      GEMMSMITH_TRY(auto source, compile::kernel_source(config, Signature{}, architecture));
      GEMMSMITH_TRY(const auto kernel, compiler.compile(source));
      if (kernel.status != compile::KernelStatus::kOk)
        return fail(ErrorCode::kCompile, "{}: {}\n{}", text, compile::name(kernel.status),
                    kernel.log);
      for (const float beta :
           {0.0F, 1.0F}) {  // products with and without C have plans of their own
        Problem problem = to_row_major(problem_of(shape));
        problem.beta = beta;
        GEMMSMITH_CHECK(writer.add_kernel_plan(
            problem, config, info.target,
            {kernel.cubin, "gemm", kernel.registers, kernel.static_shared_bytes}, {}, role));
      }
    }
    const Problem problem = to_row_major(problem_of(kVendor));
    GEMMSMITH_TRY(auto matmul, vendor::LtMatmul::create(lt, problem, kWorkspaceBytes));
    GEMMSMITH_TRY(const auto algos, matmul.heuristics(8));
    GEMMSMITH_TRY(const Config config, vendor::to_config(lt->lt(), algos.back().algo));
    GEMMSMITH_CHECK(
        writer.add_vendor_plan(problem, to_text(config), algos.back().workspace_bytes, {}));
    return writer.bytes();
  }
};

#define LOAD_TABLE_OR_SKIP()                             \
  if (const std::string why = load_table(); why != "") { \
    GTEST_SKIP() << "unavailable: " << why;              \
  }

TEST_F(GpuRuntime, EveryLayoutIsExactByHeuristic) {
  for (const std::int32_t transa : {GEMMSMITH_OP_N, GEMMSMITH_OP_T})
    for (const std::int32_t transb : {GEMMSMITH_OP_N, GEMMSMITH_OP_T})
      for (const auto& [type, compute] : {std::pair{GEMMSMITH_R_16F, GEMMSMITH_COMPUTE_32F},
                                          std::pair{GEMMSMITH_R_16F, GEMMSMITH_COMPUTE_16F},
                                          std::pair{GEMMSMITH_R_16BF, GEMMSMITH_COMPUTE_32F}}) {
        // A3, A6, A8: also with odd leading dimensions and pointers.
        for (const std::int64_t odd : {0, 1}) {
          Shape shape{72, 104, 80, transa, transb, type, compute, odd, odd};
          Product product(driver(), shape);
          ASSERT_EQ(product.enqueue(handle_, nullptr, 2, -1), GEMMSMITH_STATUS_SUCCESS)
              << gemmsmithGetLastErrorString();
          EXPECT_EQ(product.difference(2, -1), "") << transa << transb << type << compute << odd;
        }
      }
}

TEST_F(GpuRuntime, PlansAreUsedAndExact) {
  LOAD_TABLE_OR_SKIP();
  for (const Shape& planned : {kPlanned, kRagged, kSplit, kWorkspaceSplit, kVendor}) {
    Product product(driver(), planned);
    const std::string source = source_of(product.problem);
    EXPECT_EQ(source.find("heuristic"), std::string::npos) << source;
    for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {1.0F, 1.0F}, {2.0F, -1.0F}}) {
      product.d.fill_nan();
      ASSERT_EQ(product.enqueue(handle_, nullptr, alpha, beta), GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      EXPECT_EQ(product.difference(alpha, beta), "") << source;
    }
    // C1: NaNs of C stay out.
    product.c.fill_nan();
    ASSERT_EQ(product.enqueue(handle_, nullptr), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(product.difference(), "") << source;
    // Padded as the plan can take it, then as it cannot.
    for (const auto& [pad, offset] : {std::pair{8, 8}, std::pair{1, 0}, std::pair{0, 1}}) {
      Shape shape = planned;
      shape.pad = pad;
      shape.offset = offset;
      Product other(driver(), shape);
      ASSERT_EQ(other.enqueue(handle_, nullptr, 1, 1), GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      EXPECT_EQ(other.difference(1, 1), "") << source << pad << offset;
    }
  }
}

TEST_F(GpuRuntime, DeviceScalarsAreRead) {
  LOAD_TABLE_OR_SKIP();
  const float scalars[] = {2, -1, 0};
  auto memory = DeviceBuffer::allocate(driver(), sizeof scalars);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(copy_to_device(driver(), memory->address(), scalars, sizeof scalars, nullptr));
  const auto* values = static_cast<const float*>(memory->pointer());
  for (const Shape& planned : {kPlanned, kRagged, kSplit, kVendor}) {
    Product product(driver(), planned);
    product.problem.pointer_mode = GEMMSMITH_POINTER_MODE_DEVICE;
    for (const int beta : {1, 2}) {
      product.d.fill_nan();
      ASSERT_EQ(
          gemmsmithMatmul(handle_, &product.problem, values, product.a.data(), product.b.data(),
                          values + beta, product.c.data(), product.d.data(), nullptr, 0, nullptr),
          GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      EXPECT_EQ(product.difference(2, scalars[beta]), "");
    }
  }
}

// B1, C3: the scaling kernel, for both types, odd sizes and padding.
TEST_F(GpuRuntime, EmptySumAndZeroAlphaScaleC) {
  for (const std::int32_t type : {GEMMSMITH_R_16F, GEMMSMITH_R_16BF})
    for (const float beta : {0.0F, 1.0F, -2.0F, 0.5F}) {
      Product empty(driver(), Shape{133, 57, 0, GEMMSMITH_OP_T, GEMMSMITH_OP_N, type,
                                    GEMMSMITH_COMPUTE_32F, 3, 1});
      ASSERT_EQ(empty.enqueue(handle_, nullptr, 1, beta), GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      EXPECT_EQ(empty.difference(1, beta), "");
      Product product(driver(), Shape{133, 57, 64, GEMMSMITH_OP_T, GEMMSMITH_OP_N, type});
      product.a.fill_nan();
      ASSERT_EQ(product.enqueue(handle_, nullptr, 0, beta), GEMMSMITH_STATUS_SUCCESS);
      EXPECT_EQ(product.difference(0, beta), "");
    }
}

Result<void> enqueued(gemmsmithStatus_t status) {
  if (status == GEMMSMITH_STATUS_SUCCESS) return {};
  return fail(ErrorCode::kDevice, "{}", gemmsmithGetLastErrorString());
}

// I1, I4, I5, I8: captured without a warm-up, several products in one graph, replayed on another
// stream with new data while eager products run beside it.
TEST_F(GpuRuntime, ColdCaptureReplaysExactly) {
  LOAD_TABLE_OR_SKIP();
  const Shape unseen{88, 120, 96, GEMMSMITH_OP_N, GEMMSMITH_OP_T};
  std::vector<std::unique_ptr<Product>> products;
  for (const Shape& shape : {kPlanned, kRagged, kSplit, kWorkspaceSplit, kVendor, unseen})
    products.push_back(std::make_unique<Product>(driver(), shape));
  Product eager(driver(), kPlanned);
  auto capture_stream = Stream::create(driver());
  auto launch_stream = Stream::create(driver());
  ASSERT_TRUE(capture_stream && launch_stream);
  auto graph =
      GraphExec::capture(driver(), capture_stream->get(), [&](CUstream stream) -> Result<void> {
        for (const auto& product : products)
          GEMMSMITH_CHECK(enqueued(product->enqueue(handle_, stream)));
        return {};
      });
  ASSERT_TRUE(graph) << graph.error().what;
  for (int replay = 0; replay < 100; ++replay) {
    ASSERT_TRUE(graph->launch(launch_stream->get()));
    ASSERT_EQ(eager.enqueue(handle_, capture_stream->get()), GEMMSMITH_STATUS_SUCCESS);
  }
  ASSERT_TRUE(context_->synchronize());
  for (const auto& product : products) EXPECT_EQ(product->difference(), "");
  EXPECT_EQ(eager.difference(), "");
  for (const auto& product : products) {
    for (std::int64_t i = 0; i < product->a.rows(); ++i) product->a.set(i, 0, 1);
    product->a.upload();
    product->d.fill_nan();
  }
  ASSERT_TRUE(graph->launch(launch_stream->get()));
  ASSERT_TRUE(context_->synchronize());
  for (const auto& product : products) EXPECT_EQ(product->difference(), "");
}

// J1: one handle, eight threads, a stream each.
TEST_F(GpuRuntime, ThreadsShareAHandle) {
  LOAD_TABLE_OR_SKIP();
  std::vector<std::string> failures(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      if (!context_->make_current()) return;
      const Shape shapes[] = {kPlanned, kRagged, kSplit, kVendor};
      Product product(driver(), shapes[t % 4]);
      auto stream = Stream::create(driver());
      for (int i = 0; i < 1000; ++i)
        if (product.enqueue(handle_, stream->get()) != GEMMSMITH_STATUS_SUCCESS)
          failures[t] = gemmsmithGetLastErrorString();
      if (!stream->synchronize()) failures[t] = "the stream failed";
      if (const std::string difference = product.difference(); difference != "")
        failures[t] = difference;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// Kernels that wait for each other's partial sums, 54 CTAs each, on eight streams of one handle:
// half the calls bring a workspace, the others get one of the handle's.
TEST_F(GpuRuntime, SplitsThroughTheWorkspaceShareNothing) {
  LOAD_TABLE_OR_SKIP();
  std::vector<std::string> failures(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      if (!context_->make_current()) return;
      Product product(driver(), kWorkspaceSplit);
      auto stream = Stream::create(driver());
      for (int i = 0; i < 1000; ++i)
        if (product.enqueue(handle_, stream->get(), 1, 0, t % 2 == 0) != GEMMSMITH_STATUS_SUCCESS)
          failures[t] = gemmsmithGetLastErrorString();
      if (!stream->synchronize()) failures[t] = "the stream failed";
      if (const std::string difference = product.difference(); difference != "")
        failures[t] = difference;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// I5, J1: eight threads, a stream each and one handle; among 10 000 calls each fifth goes into a
// graph of the thread's own and runs from there.
TEST_F(GpuRuntime, ThreadsCallAndCaptureTenThousandTimes) {
  LOAD_TABLE_OR_SKIP();
  constexpr int kChecks = 5;
  constexpr int kCallsACheck = 250;  // 8 threads * 5 * 250 calls
  std::vector<std::string> failures(8);
  std::vector<std::thread> threads;
  const auto work = [&](std::size_t t) -> Result<void> {
    GEMMSMITH_CHECK(context_->make_current());
    const Shape unseen{88, 120, 96, GEMMSMITH_OP_N, GEMMSMITH_OP_T};
    const Shape shapes[] = {kPlanned, kRagged, kSplit, kVendor, unseen};
    Product product(driver(), shapes[t % 5]);
    GEMMSMITH_TRY(auto stream, Stream::create(driver()));
    const auto call = [&](CUstream on) { return enqueued(product.enqueue(handle_, on)); };
    for (int round = 0; round < kChecks; ++round) {
      product.d.fill_nan();
      for (int i = 0; i < kCallsACheck; ++i) {
        if (i % 5 != 0) {
          GEMMSMITH_CHECK(call(stream.get()));
          continue;
        }
        GEMMSMITH_TRY(auto graph, GraphExec::capture(driver(), stream.get(), call));
        GEMMSMITH_CHECK(graph.launch(stream.get()));
        GEMMSMITH_CHECK(stream.synchronize());  // before the graph is destroyed
      }
      GEMMSMITH_CHECK(stream.synchronize());
      if (const std::string difference = product.difference(); difference != "")
        return fail(ErrorCode::kDevice, "{}", difference);
    }
    return {};
  };
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      if (const auto done = work(t); !done) failures[t] = done.error().what;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// J10: programmatic dependent launch must not read what its predecessor has not written. A is a
// cyclic shift, so each product moves the rows of its predecessor's result by one.
TEST_F(GpuRuntime, ChainedProductsSeeEachOthersResults) {
  LOAD_TABLE_OR_SKIP();
  constexpr int kLinks = 501;
  for (const Shape& shape : {kChain, kShortChain}) {
    Product product(driver(), shape);
    for (std::int64_t j = 0; j < shape.m; ++j)
      for (std::int64_t p = 0; p < shape.k; ++p)
        product.a.set(p, j, p == (j + 1) % shape.k ? 1.0F : 0.0F);
    product.a.upload();
    const float one = 1;
    const float zero = 0;
    const void* from = product.b.data();
    void* to = product.d.data();
    for (int link = 0; link < kLinks; ++link) {
      ASSERT_EQ(gemmsmithMatmul(handle_, &product.problem, &one, product.a.data(), from, &zero,
                                nullptr, to, nullptr, 0, nullptr),
                GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      from = to;
      to = to == product.d.data() ? product.c.data() : product.d.data();
    }
    product.d.download();
    int wrong = 0;
    for (std::int64_t j = 0; j < shape.n; ++j)
      for (std::int64_t i = 0; i < shape.m; ++i)
        if (product.d.at(i, j) != product.b.at((i + kLinks) % shape.m, j)) ++wrong;
    EXPECT_EQ(wrong, 0) << source_of(product.problem);
  }
}

// J8: what a handle takes it gives back.
// How many of a graph's edges are programmatic.
Result<int> programmatic_edges(const Driver& driver, CUgraph graph) {
  void* const library = dlopen(driver_library_name().c_str(), RTLD_NOW);
  const auto get_edges = reinterpret_cast<decltype(&::cuGraphGetEdges_v2)>(
      library != nullptr ? dlsym(library, "cuGraphGetEdges_v2") : nullptr);
  if (get_edges == nullptr) return fail(ErrorCode::kEnvironment, "no cuGraphGetEdges_v2");
  std::size_t count = 0;
  GEMMSMITH_CHECK(check(driver, get_edges(graph, nullptr, nullptr, nullptr, &count), "counting"));
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> data(count);
  GEMMSMITH_CHECK(check(driver, get_edges(graph, from.data(), to.data(), data.data(), &count),
                        "asking for a graph's edges"));
  return static_cast<int>(std::count_if(data.begin(), data.end(), [](const auto& edge) {
    return edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  }));
}

// Behind a kernel of ours the follower is captured, and the graph has an edge that lets it start
// early; behind another library's work it is not.
TEST_F(GpuRuntime, FollowersServeBehindKernelsOfOurs) {
  LOAD_TABLE_OR_SKIP();
  std::vector<std::unique_ptr<Product>> products;
  for (int i = 0; i < 6; ++i) products.push_back(std::make_unique<Product>(driver(), kFollowed));
  auto other = DeviceBuffer::allocate(driver(), 1024);
  auto stream = Stream::create(driver());
  ASSERT_TRUE(other && stream);
  ASSERT_EQ(driver().StreamBeginCapture_v2(stream->get(), CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  for (std::size_t i = 0; i < products.size(); ++i) {
    EXPECT_EQ(products[i]->enqueue(handle_, stream->get()), GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    if (i == 2) {
      EXPECT_EQ(driver().MemsetD8Async(other->address(), 0, 1024, stream->get()), CUDA_SUCCESS);
    }
  }
  CUgraph graph = nullptr;
  ASSERT_EQ(driver().StreamEndCapture(stream->get(), &graph), CUDA_SUCCESS);
  const auto edges = programmatic_edges(driver(), graph);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver().GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  for (int replay = 0; replay < 50; ++replay)
    ASSERT_EQ(driver().GraphLaunch(exec, stream->get()), CUDA_SUCCESS);
  ASSERT_TRUE(stream->synchronize());
  for (const auto& product : products) EXPECT_EQ(product->difference(), "");
  EXPECT_EQ(driver().GraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver().GraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_TRUE(edges) << edges.error().what;
  // Three products, other work, three products.
  EXPECT_EQ(*edges, 4);
}

// A chain captured from the shipped table, for each of a few plans with followers: what a call
// takes back to back, beside what the plan and the follower took when they were validated.
TEST_F(GpuRuntime, ChainsOfTheShippedTableArePrinted) {
  const char* const named = std::getenv("GEMMSMITH_PLANS");
  const std::string path = named != nullptr ? named : "data/plans/h200.plans";
  const auto table = plan::PlanTable::open(path);
  if (!table) GTEST_SKIP() << "unavailable: " << table.error().what;
  if (gemmsmithLoadPlanTable(handle_, path.c_str()) != GEMMSMITH_STATUS_SUCCESS)
    GTEST_SKIP() << "unavailable: " << gemmsmithGetLastErrorString();
  auto stream = Stream::create(driver());
  auto begin = Event::create(driver());
  auto end = Event::create(driver());
  ASSERT_TRUE(stream && begin && end);
  constexpr int kCalls = 200;
  constexpr int kReplays = 20;
  constexpr int kMostPlans = 12;
  int plans = 0;
  for (const plan::PlanEntry& entry : table->entries()) {
    const plan::PlanEntry* const follower = table->follower_of(entry);
    const bool is_plain = entry.key.type == 0 && entry.key.layout == 0 && entry.key.alignment == 0;
    if (follower == nullptr || !is_plain || plans == kMostPlans) continue;
    ++plans;
    // Row-major m x n is column-major n x m.
    Product product(driver(), Shape{entry.key.n, entry.key.m, entry.key.k});
    auto graph = GraphExec::capture(driver(), stream->get(), [&](CUstream into) -> Result<void> {
      for (int i = 0; i < kCalls; ++i) GEMMSMITH_CHECK(enqueued(product.enqueue(handle_, into)));
      return {};
    });
    ASSERT_TRUE(graph) << graph.error().what;
    ASSERT_TRUE(graph->launch(stream->get()));
    ASSERT_TRUE(begin->record(stream->get()));
    for (int i = 0; i < kReplays; ++i) ASSERT_TRUE(graph->launch(stream->get()));
    ASSERT_TRUE(end->record(stream->get()));
    ASSERT_TRUE(stream->synchronize());
    const auto us = elapsed_us(*begin, *end);
    ASSERT_TRUE(us);
    std::printf("chain=%d_%d_%d us=%.3f plan_us=%.3f follower_us=%.3f follower_ratio=%.3f\n",
                entry.key.m, entry.key.n, entry.key.k, *us / (kCalls * kReplays), entry.expected_us,
                follower->expected_us, follower->ratio_chained);
    if (entry.key.k <= 512) {
      EXPECT_EQ(product.difference(), "");
    }
  }
  std::printf("chains=%d\n", plans);
}

TEST_F(GpuRuntime, HandlesGiveDeviceMemoryBack) {
  LOAD_TABLE_OR_SKIP();
  const auto cycle = [&] {
    ASSERT_EQ(gemmsmithDestroy(handle_), GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithCreate(&handle_), GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(load_table(), "");
  };
  for (int i = 0; i < 5; ++i) cycle();
  const auto before = context_->free_bytes();
  for (int i = 0; i < 100; ++i) cycle();
  const auto after = context_->free_bytes();
  ASSERT_TRUE(before && after);
  std::printf("handles cycles=100 free_before_bytes=%zu free_after_bytes=%zu\n", *before, *after);
  EXPECT_GE(*after, *before);
}

// J8: neither the host's memory nor the device's grows with handles that come and go.
TEST_F(GpuRuntime, TenThousandHandlesLeaveNothing) {
  const auto resident_bytes = [] {
    std::ifstream file("/proc/self/statm");
    long total = 0;
    long resident = 0;
    file >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  };
  const auto cycle = [] {
    gemmsmithHandle_t handle = nullptr;
    ASSERT_EQ(gemmsmithCreate(&handle), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    ASSERT_EQ(gemmsmithDestroy(handle), GEMMSMITH_STATUS_SUCCESS);
  };
  // The driver's own pools fill up first.
  for (int i = 0; i < 500; ++i) cycle();
  const auto free_before = context_->free_bytes();
  const long resident_before = resident_bytes();
  for (int i = 0; i < 10000; ++i) cycle();
  const auto free_after = context_->free_bytes();
  const long resident_after = resident_bytes();
  ASSERT_TRUE(free_before && free_after);
  std::printf(
      "handles cycles=10000 free_before_bytes=%zu free_after_bytes=%zu resident_before_bytes=%ld "
      "resident_after_bytes=%ld\n",
      *free_before, *free_after, resident_before, resident_after);
  EXPECT_GE(*free_after, *free_before);
  EXPECT_LE(resident_after, resident_before + (long{4} << 20)) << "less than 0.5 KB a handle";
}

// D8: more rows than 65535 tiles of 64; D5, D11: D beyond 2 GiB. All factors are ones, so every
// element of D is k, and none stays NaN.
TEST_F(GpuRuntime, HugeOutputsAreWhole) {
  const Shape shapes[] = {{65536 * 64 + 8, 8, 8}, {33000, 33000, 64}};
  for (const Shape& shape : shapes) {
    const gemmsmithProblem_t problem = problem_of(shape);
    const auto filled = [&](std::int64_t elements, std::uint16_t word) {
      auto buffer = DeviceBuffer::allocate(driver(), static_cast<std::size_t>(elements) * 2);
      EXPECT_TRUE(buffer) << buffer.error().what;
      driver().MemsetD16Async(buffer->address(), word, static_cast<std::size_t>(elements), nullptr);
      return *std::move(buffer);
    };
    const DeviceBuffer a = filled(shape.m * shape.k, encode(shape.type, 1));
    const DeviceBuffer b = filled(shape.n * shape.k, encode(shape.type, 1));
    const DeviceBuffer d = filled(shape.m * shape.n, 0x7FFF);
    const float one = 1;
    const float zero = 0;
    ASSERT_EQ(gemmsmithMatmul(handle_, &problem, &one, a.pointer(), b.pointer(), &zero, nullptr,
                              d.pointer(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    std::vector<std::uint16_t> host(static_cast<std::size_t>(shape.m * shape.n));
    ASSERT_TRUE(copy_to_host(driver(), host.data(), d.address(), host.size() * 2, nullptr));
    const std::uint16_t expected = encode(shape.type, static_cast<float>(shape.k));
    EXPECT_EQ(std::count(host.begin(), host.end(), expected), shape.m * shape.n) << shape.m;
  }
}

// What a call costs the host: enqueueing alone, below the depth of the launch queue.
double host_ns_per_call(const Product& product, gemmsmithHandle_t handle, CUstream stream,
                        const CudaContext& context) {
  constexpr int kCalls = 200;
  constexpr int kRounds = 50;
  double best = 1e300;
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(context.synchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i)
      EXPECT_EQ(product.enqueue(handle, stream), GEMMSMITH_STATUS_SUCCESS);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kCalls);
  }
  EXPECT_TRUE(context.synchronize());
  return best;
}

TEST_F(GpuRuntime, HostCostIsPrinted) {
  LOAD_TABLE_OR_SKIP();
  auto stream = Stream::create(driver());
  ASSERT_TRUE(stream);
  const Shape heuristic{248, 184, 504};
  for (const Shape& shape : {kPlanned, kRagged, kSplit, kVendor, heuristic}) {
    const Product product(driver(), shape);
    const double ns = host_ns_per_call(product, handle_, stream->get(), *context_);
    std::printf("host_cost shape=%lld_%lld_%lld source=\"%s\" ns_per_call=%.0f\n",
                static_cast<long long>(shape.m), static_cast<long long>(shape.n),
                static_cast<long long>(shape.k), source_of(product.problem).c_str(), ns);
    EXPECT_LT(ns, 100000);
  }
}

}  // namespace
}  // namespace gemmsmith::runtime
