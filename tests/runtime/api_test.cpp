// The parts of the C API beyond one plain product: plans, batches, epilogues, output in f32, the
// list of misses, the log and what a library says of itself.
#include <cuda.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

#include "problem/shape_list.h"
#include "runtime/miss_list.h"
#include "runtime/table_test.h"
#include "support/scratch.h"

namespace gemmsmith::runtime {
namespace {

using ApiTest = TableTest;

class OwnedPlan {
 public:
  OwnedPlan(gemmsmithHandle_t handle, const Product& product) {
    EXPECT_EQ(gemmsmithPlanCreate(handle, &product.problem, &plan_), GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
  }
  ~OwnedPlan() { EXPECT_EQ(gemmsmithPlanDestroy(plan_), GEMMSMITH_STATUS_SUCCESS); }
  gemmsmithPlan_t get() const { return plan_; }

  // "" where the run was right.
  std::string run(Product& product, float alpha = 1, float beta = 0) const {
    product.d.fill_nan();
    const gemmsmithStatus_t status =
        gemmsmithPlanRun(plan_, &alpha, product.a.data(), product.b.data(), &beta, product.c.data(),
                         product.d.data(), nullptr, 0, nullptr);
    if (status != GEMMSMITH_STATUS_SUCCESS) return gemmsmithGetLastErrorString();
    return product.difference(alpha, beta);
  }

 private:
  gemmsmithPlan_t plan_ = nullptr;
};

TEST_F(ApiTest, PlansRunWhatWouldServeTheirProblem) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  const OwnedPlan plan(handle_, product);
  gemmsmithPlanInfo_t info = {};
  info.size = sizeof info;
  ASSERT_EQ(gemmsmithPlanGetInfo(plan.get(), &info), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_KERNEL);
  EXPECT_STREQ(info.config, kWithMaps);
  for (int i = 0; i < 3; ++i) {
    const int launches = gpu().launches;
    EXPECT_EQ(plan.run(product), "");
    EXPECT_EQ(gpu().launches, launches + 1);
  }
  // Other work, other pointers, nothing to multiply: as gemmsmithMatmul would.
  EXPECT_EQ(plan.run(product, 2, 3), "");
  EXPECT_EQ(plan.run(product, 0, 3), "");
  options_.offset_a = 1;
  Product unaligned(options_);
  EXPECT_EQ(plan.run(unaligned), "");
}

TEST_F(ApiTest, APlanKeepsItsTable) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  const OwnedPlan plan(handle_, product);
  load(TableMaker().vendor(product, "cublaslt:a66.t20.s35.g3"));
  const int launches = gpu().launches;
  EXPECT_EQ(plan.run(product), "");
  EXPECT_EQ(gpu().launches, launches + 1);
}

TEST_F(ApiTest, PlansOfTwoProblemsAreKeptApart) {
  Product product(options_);
  options_.k = 32;
  Product other(options_);
  const OwnedPlan plan(handle_, product);
  const OwnedPlan other_plan(handle_, other);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.run(product), "");
    EXPECT_EQ(other_plan.run(other), "");
  }
}

// Memory may come back to the same addresses: a destroyed plan leaves nothing that a new one finds.
TEST_F(ApiTest, APlanNeverRunsWhatADeadOneRemembered) {
  for (int i = 0; i < 50; ++i) {
    options_.k = 16 + 8 * (i % 2);
    Product product(options_);
    const OwnedPlan plan(handle_, product);
    EXPECT_EQ(plan.run(product), "") << i;
  }
}

TEST_F(ApiTest, ThreadsShareAPlan) {
  Product shared(options_);
  load(TableMaker().kernel(shared, kWithMaps).kernel(shared, kPlain, 1, 1));
  const OwnedPlan plan(handle_, shared);
  std::vector<std::string> failures(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      use_device(0);
      Product product(options_);
      for (int i = 0; i < 20; ++i)
        if (const std::string wrong = plan.run(product, 1, i % 2 == 0 ? 0.0F : 1.0F); wrong != "")
          failures[t] = wrong;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// I1: what a plan needs is on the device once it was made, so that its first run may be captured.
TEST_F(ApiTest, APlansFirstRunMayBeCaptured) {
  Product product(options_);
  use_device(-1);
  load(TableMaker().kernel(product, kWithMaps));  // no context: nothing is loaded yet
  use_device(0);
  const OwnedPlan plan(handle_, product);
  gpu().is_capturing = true;
  const int launches = gpu().launches;
  EXPECT_EQ(plan.run(product), "");
  EXPECT_EQ(gpu().launches, launches + 1);
}

TEST_F(ApiTest, BadPlanArgumentsAreNamed) {
  Product product(options_);
  gemmsmithPlan_t plan = nullptr;
  EXPECT_EQ(gemmsmithPlanCreate(handle_, &product.problem, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "plan is NULL: pass the address of a plan");
  EXPECT_EQ(gemmsmithPlanCreate(handle_, nullptr, &plan), GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemmsmithPlanCreate(nullptr, &product.problem, &plan),
            GEMMSMITH_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(gemmsmithPlanRun(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                             0, nullptr),
            GEMMSMITH_STATUS_NOT_INITIALIZED);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "plan is NULL: create one with gemmsmithPlanCreate");
  EXPECT_EQ(gemmsmithPlanGetInfo(nullptr, nullptr), GEMMSMITH_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(gemmsmithPlanDestroy(nullptr), GEMMSMITH_STATUS_SUCCESS);
  const OwnedPlan made(handle_, product);
  const float one = 1;
  EXPECT_EQ(gemmsmithPlanRun(made.get(), &one, nullptr, product.b.data(), &one, product.c.data(),
                             product.d.data(), nullptr, 0, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
  EXPECT_STREQ(gemmsmithGetLastErrorString(), "A is NULL: pass device memory");
}

// P8: host scalars need no alignment.
TEST_F(ApiTest, HostScalarsMayLieAnywhere) {
  Product product(options_);
  alignas(8) unsigned char bytes[16] = {};
  for (std::size_t at = 0; at < 4; ++at) {
    const float alpha = 2;
    const float beta = -1;
    std::memcpy(bytes + at, &alpha, 4);
    std::memcpy(bytes + 8 + at, &beta, 4);
    product.d.fill_nan();
    ASSERT_EQ(
        gemmsmithMatmul(handle_, &product.problem, bytes + at, product.a.data(), product.b.data(),
                        bytes + 8 + at, product.c.data(), product.d.data(), nullptr, 0, nullptr),
        GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(product.difference(2, -1), "");
  }
}

// One allocation seen as `batch` matrices, and what the product of each must be.
struct Batch {
  std::int32_t transa = GEMMSMITH_OP_T;
  std::int64_t m, n, k, batch, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;

  std::string run_and_compare(gemmsmithHandle_t handle, float alpha, float beta) const {
    gemmsmithProblem_t problem = {};
    problem.size = sizeof problem;
    problem.transa = transa;
    problem.transb = GEMMSMITH_OP_N;
    problem.type = GEMMSMITH_R_16F;
    problem.compute_type = GEMMSMITH_COMPUTE_32F;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.lda = lda;
    problem.ldb = ldb;
    problem.ldc = ldc;
    problem.ldd = ldd;
    problem.batch = batch;
    problem.stride_a = stride_a;
    problem.stride_b = stride_b;
    problem.stride_c = stride_c;
    problem.stride_d = stride_d;
    const std::int64_t columns_a = transa != 0 ? m : k;
    const auto words = [&](std::int64_t stride, std::int64_t ld, std::int64_t columns) {
      return (batch - 1) * stride + ld * columns;
    };
    HostMatrix a(GEMMSMITH_R_16F, words(stride_a, lda, columns_a), 1,
                 words(stride_a, lda, columns_a));
    HostMatrix b(GEMMSMITH_R_16F, words(stride_b, ldb, n), 1, words(stride_b, ldb, n));
    HostMatrix c(GEMMSMITH_R_16F, words(stride_c, ldc, n), 1, words(stride_c, ldc, n));
    HostMatrix d(GEMMSMITH_R_16F, words(stride_d, ldd, n), 1, words(stride_d, ldd, n));
    a.fill_whole_numbers(1);
    b.fill_whole_numbers(2);
    c.fill_whole_numbers(3);
    d.fill_whole_numbers(4);
    HostMatrix expected = d;
    for (std::int64_t i = 0; i < batch; ++i)
      for (std::int64_t column = 0; column < n; ++column)
        for (std::int64_t row = 0; row < m; ++row) {
          double sum = 0;
          for (std::int64_t p = 0; alpha != 0 && p < k; ++p)
            sum += a.at(i * stride_a + (transa != 0 ? p + row * lda : row + p * lda), 0) *
                   b.at(i * stride_b + p + column * ldb, 0);
          const double old = beta != 0 ? c.at(i * stride_c + row + column * ldc, 0) : 0;
          expected.set(i * stride_d + row + column * ldd, 0,
                       static_cast<double>(alpha) * sum + static_cast<double>(beta) * old);
        }
    if (gemmsmithMatmul(handle, &problem, &alpha, a.data(), b.data(), &beta, c.data(), d.data(),
                        nullptr, 0, nullptr) != GEMMSMITH_STATUS_SUCCESS)
      return gemmsmithGetLastErrorString();
    for (std::int64_t i = 0; i < d.rows(); ++i)
      if (d.at(i, 0) != expected.at(i, 0)) return "word " + std::to_string(i) + " differs";
    return "";
  }
};

// E3: gaps between matrices; E2: one matrix for the whole batch; E4: interleaved heads whose
// windows overlap in the inputs.
TEST_F(ApiTest, BatchesOfAnyStridesAreExact) {
  const Batch batches[] = {
      {GEMMSMITH_OP_T, 8, 12, 16, 3, 16, 16, 8, 8, 8 * 16, 12 * 16, 96, 96},
      {GEMMSMITH_OP_N, 8, 12, 16, 3, 24, 17, 9, 10, 500, 300, 200, 211},
      {GEMMSMITH_OP_T, 8, 12, 16, 5, 16, 16, 8, 8, 0, 12 * 16, 0, 96},
      {GEMMSMITH_OP_T, 8, 12, 16, 5, 16, 16, 8, 8, 8 * 16, 0, 96, 96},
      {GEMMSMITH_OP_N, 16, 6, 16, 12, 192, 192, 192, 192, 16, 16, 16, 16},
      {GEMMSMITH_OP_N, 16, 6, 32, 4, 33, 32, 16, 16, 5, 7, 96, 96},
      // One alone has no next, and strides that mean nothing.
      {GEMMSMITH_OP_T, 8, 12, 16, 1, 16, 16, 8, 8, -1, -128, -96, -8},
      {GEMMSMITH_OP_T, 8, 12, 0, 1, 1, 1, 8, 8, -8, 12, -96, 0},
      {GEMMSMITH_OP_T, 8, 12, 0, 3, 1, 1, 8, 8, 8, 12, 96, 96},
      {GEMMSMITH_OP_T, 8, 12, 0, 3, 1, 1, 9, 10, 8, 12, 150, 170},
  };
  int index = 0;
  for (const Batch& batch : batches) {
    for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {2.0F, -1.0F}, {0.0F, 3.0F}})
      EXPECT_EQ(batch.run_and_compare(handle_, alpha, beta), "") << index << " " << alpha;
    ++index;
  }
}

// A plan of the dense batch serves gaps, shared operands and interleaved results, too.
TEST_F(ApiTest, PlansServeBatchesOfAnyAlignedStrides) {
  options_.m = 24;  // of column-major D, as below
  options_.n = 16;
  options_.k = 32;
  Product product(options_);
  product.problem.batch = 5;
  product.problem.stride_a = product.problem.stride_b = 32 * 24;
  product.problem.stride_c = product.problem.stride_d = 16 * 24;
  load(TableMaker().kernel(product, "sm90_ws:n24.s2").kernel(product, "sm90_ws:n24.s2", 1, 1));
  const Batch batches[] = {
      {GEMMSMITH_OP_T, 24, 16, 32, 5, 32, 32, 24, 24, 32 * 24, 32 * 16, 384, 384},
      {GEMMSMITH_OP_T, 24, 16, 32, 5, 40, 48, 32, 24, 1000, 0, 0, 400},
      {GEMMSMITH_OP_T, 24, 16, 32, 5, 32, 32, 24, 120, 0, 8, 384, 24},
  };
  for (const Batch& batch : batches)
    for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {2.0F, -1.0F}}) {
      const int launches = gpu().launches;
      EXPECT_EQ(batch.run_and_compare(handle_, alpha, beta), "");
      EXPECT_EQ(gpu().launches, launches + 1) << "a kernel, not cuBLASLt";
    }
  const int launches = gpu().launches;
  const Batch others[] = {
      {GEMMSMITH_OP_T, 24, 16, 32, 6, 32, 32, 24, 24, 32 * 24, 32 * 16, 384, 384},
      {GEMMSMITH_OP_T, 24, 16, 32, 5, 32, 32, 24, 24, 32 * 24 + 4, 32 * 16, 384, 384},
      {GEMMSMITH_OP_T, 24, 16, 32, 1, 32, 32, 24, 24, 0, 0, 0, 0}};
  for (const Batch& batch : others) EXPECT_EQ(batch.run_and_compare(handle_, 1, 0), "");
  EXPECT_EQ(gpu().launches, launches) << "another batch, strides of 8 bytes, a single product";
}

// Matrices of a batch are only as aligned as the step between them: nothing may be chosen that
// relies on the first one alone.
TEST_F(ApiTest, BatchStridesCountAsAlignment) {
  const Batch odd = {GEMMSMITH_OP_T, 8, 8, 16, 2, 16, 16, 8, 8, 129, 130, 64, 66};
  ASSERT_EQ(odd.run_and_compare(handle_, 1, 0), "");
  EXPECT_EQ(fake_lt().alignment[0], 2U);  // the library's A is the caller's
  EXPECT_EQ(fake_lt().alignment[1], 4U);
  EXPECT_EQ(fake_lt().alignment[3], 4U);
}

// Groups of columns, each with an A of its own.
class GroupedTest : public ApiTest {
 protected:
  GroupedTest() {
    options_.m = 24;
    options_.n = 40;
    options_.k = 32;
  }
  gemmsmithProblem_t problem() const {
    gemmsmithProblem_t problem = Product(options_).problem;
    problem.batch = 4;
    problem.stride_a = 24 * 32;
    return problem;
  }
  // The plan table's problem, in our own terms.
  static void use(gemmsmithHandle_t handle, std::int64_t count = 4) {
    Problem groups;
    groups.m = 64;  // of 33 to 64 columns
    groups.n = 24;
    groups.k = 32;
    groups.batch = count;
    groups.grouped = true;
    plan::PlanTableWriter writer({"NVIDIA H200", 90, 132, "13.1.0", "nvrtc 13.0"});
    for (const float beta : {0.0F, 1.0F}) {
      groups.beta = beta;
      const auto added = writer.add_kernel_plan(
          *make_problem(groups), *parse_config("sm90_ws:n24.s2.e1.ps1", kernel_families()), h200(),
          {std::string("FAKE gemm tn maps f16\0", 22)}, {5, 1.2, 1.1});
      ASSERT_TRUE(added) << added.error().what;
    }
    const std::string bytes = *writer.bytes();
    ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle, bytes.data(), bytes.size()),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
  }
  std::string error_of(const gemmsmithProblem_t& problem, const std::int32_t* ends,
                       gemmsmithStatus_t status, float alpha = 1) {
    const float beta = 0;
    Product product(options_);
    EXPECT_EQ(gemmsmithGroupedMatmul(handle_, &problem, &alpha, product.a.data(), product.b.data(),
                                     &beta, nullptr, product.d.data(), ends, nullptr),
              status);
    return gemmsmithGetLastErrorString();
  }
  const std::int32_t ends_[4] = {7, 7, 30, 38};  // an empty group, and two columns of nobody
};

TEST_F(GroupedTest, EachGroupHasItsOwnFactor) {
  use(handle_);
  for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {2.0F, -1.0F}}) {
    HostMatrix a(GEMMSMITH_R_16F, 32, 24 * 4, 32);
    HostMatrix b(GEMMSMITH_R_16F, 32, 40, 32);
    HostMatrix c(GEMMSMITH_R_16F, 24, 40, 24);
    HostMatrix d(GEMMSMITH_R_16F, 24, 40, 24);
    int seed = 0;
    for (HostMatrix* matrix : {&a, &b, &c, &d}) matrix->fill_whole_numbers(++seed);
    const HostMatrix before = d;
    const gemmsmithProblem_t groups = problem();
    const int launches = gpu().launches;
    ASSERT_EQ(gemmsmithGroupedMatmul(handle_, &groups, &alpha, a.data(), b.data(), &beta, c.data(),
                                     d.data(), ends_, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(gpu().launches, launches + 1);
    for (std::int64_t column = 0; column < 40; ++column) {
      const std::int64_t group = column < 7 ? 0 : column < 30 ? 2 : column < 38 ? 3 : -1;
      for (std::int64_t row = 0; row < 24; ++row) {
        double expected = before.at(row, column);
        if (group >= 0) {
          double sum = 0;
          for (std::int64_t p = 0; p < 32; ++p) sum += a.at(p, group * 24 + row) * b.at(p, column);
          expected = static_cast<double>(alpha) * sum +
                     (beta != 0 ? static_cast<double>(beta) * c.at(row, column) : 0.0);
        }
        ASSERT_EQ(d.at(row, column), expected) << row << " " << column;
      }
    }
  }
}

TEST_F(GroupedTest, WithoutAPlanNothingIsDone) {
  EXPECT_EQ(
      error_of(problem(), ends_, GEMMSMITH_STATUS_NOT_SUPPORTED),
      "40_24_32g4 f16/f32 tn: no plan table is loaded for this device; nothing else can serve "
      "groups whose sizes only the device knows");
  use(handle_);
  gemmsmithProblem_t other = problem();
  other.batch = 5;
  EXPECT_EQ(error_of(other, ends_, GEMMSMITH_STATUS_NOT_SUPPORTED),
            "40_24_32g5 f16/f32 tn: the plan table has no plan for this problem; nothing else can "
            "serve groups whose sizes only the device knows");
  EXPECT_EQ(gpu().launches, 0);
}

// As of a batch of one: there is no next matrix that a stride could lead to.
TEST_F(GroupedTest, OneGroupHasNoStrides) {
  use(handle_, 1);
  Product product(options_);
  gemmsmithProblem_t one_group = problem();
  one_group.batch = 1;
  const float one = 1, zero = 0;
  const std::int32_t end = 40;
  for (const std::int64_t stride : {std::int64_t{-8}, std::int64_t{7}, std::int64_t{1} << 62}) {
    one_group.stride_a = one_group.stride_b = one_group.stride_c = one_group.stride_d = stride;
    product.d.fill_nan();
    EXPECT_EQ(gemmsmithGroupedMatmul(handle_, &one_group, &one, product.a.data(), product.b.data(),
                                     &zero, nullptr, product.d.data(), &end, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(product.difference(), "");
  }
}

TEST_F(GroupedTest, BadArgumentsAreNamed) {
  use(handle_);
  const auto bad = [&](auto change, gemmsmithStatus_t status = GEMMSMITH_STATUS_INVALID_VALUE) {
    gemmsmithProblem_t changed = problem();
    change(changed);
    return error_of(changed, ends_, status);
  };
  EXPECT_EQ(bad([](auto& p) { p.batch = 0; }), "batch = 0: expected 1 to 1048576 groups");
  EXPECT_EQ(bad([](auto& p) { p.batch = 1048577; }),
            "batch = 1048577: expected 1 to 1048576 groups");
  EXPECT_EQ(bad([](auto& p) { p.stride_d = 8; }),
            "stride_d = 8: must be 0, since the groups follow each other in one matrix");
  EXPECT_EQ(bad([](auto& p) { p.stride_a = -8; }), "stride_a = -8: must not be negative");
  EXPECT_EQ(bad([](auto& p) { p.stride_a = std::int64_t{1} << 60; }),
            "stride_a = 1152921504606846976: 4 matrices would span more than 2^63 bytes");
  EXPECT_EQ(bad([](auto& p) { p.lda = 31; }),
            "lda = 31: must be at least 32, the rows of A as stored");
  EXPECT_EQ(
      bad([](auto& p) { p.transb = GEMMSMITH_OP_T, p.ldb = 40; }, GEMMSMITH_STATUS_NOT_SUPPORTED),
      "transb = 1: groups are columns of B, which must not be transposed");
  EXPECT_EQ(
      bad([](auto& p) { p.epilogue = GEMMSMITH_EPILOGUE_RELU; }, GEMMSMITH_STATUS_NOT_SUPPORTED),
      "epilogue = 2: grouped products have no epilogues");
  EXPECT_EQ(error_of(problem(), nullptr, GEMMSMITH_STATUS_INVALID_VALUE),
            "column_ends is NULL: pass 4 32-bit integers in device memory");
  EXPECT_EQ(error_of(problem(), ends_, GEMMSMITH_STATUS_NOT_SUPPORTED, 0),
            "alpha or k is 0: there is nothing to multiply, and grouped products do nothing else");
  bad([](auto& p) { p.n = 0; }, GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(gpu().launches, 0);
}

// What D must be after an epilogue.
double finished(double value, std::int32_t epilogue, double bias) {
  if ((epilogue & GEMMSMITH_EPILOGUE_BIAS) != 0) value += bias;
  if ((epilogue & GEMMSMITH_EPILOGUE_RELU) != 0) value = value < 0 ? 0 : value;
  if ((epilogue & GEMMSMITH_EPILOGUE_GELU_TANH) != 0)
    value = value / 2 *
            (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
  if ((epilogue & GEMMSMITH_EPILOGUE_GELU_ERF) != 0)
    value = value / 2 * (1 + std::erf(value / std::sqrt(2.0)));
  if ((epilogue & GEMMSMITH_EPILOGUE_SILU) != 0) value = value / (1 + std::exp(-value));
  return value;
}

constexpr gemmsmithEpilogue_t kActivations[] = {
    GEMMSMITH_EPILOGUE_NONE, GEMMSMITH_EPILOGUE_RELU, GEMMSMITH_EPILOGUE_GELU_TANH,
    GEMMSMITH_EPILOGUE_GELU_ERF, GEMMSMITH_EPILOGUE_SILU};

// Every element of D is the epilogue of sum + beta C, within twice the rounding of the type.
void expect_finished(const Product& product, const HostMatrix& bias, float alpha, float beta) {
  const gemmsmithProblem_t& p = product.problem;
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k && alpha != 0; ++l)
        sum += alpha * product.a.at(l, i) * product.b.at(l, j);
      if (beta != 0) sum += beta * product.c.at(i, j);
      const double expected = finished(sum, p.epilogue, bias.at(i, 0));
      ASSERT_NEAR(product.d.at(i, j), expected, std::abs(expected) / 128 + 1e-6)
          << i << ", " << j << " epilogue " << p.epilogue;
    }
}

// F5, F10: bias, then activation, after beta C; m = n, where a bias along the wrong side is silent
// in its size; F2: a bias that is a slice.
TEST_F(ApiTest, EpiloguesFollowBetaCAndBias) {
  options_.m = options_.n = 24;
  for (const std::int32_t type : {GEMMSMITH_R_16F, GEMMSMITH_R_16BF})
    for (const std::int32_t activation : kActivations)
      for (const std::int32_t with_bias : {0, static_cast<int>(GEMMSMITH_EPILOGUE_BIAS)})
        for (const std::int64_t offset : {0, 1, 3}) {
          options_.type = type;
          Product product(options_);
          HostMatrix bias(type, 24, 1, 24, offset);
          bias.fill_whole_numbers(9);
          product.problem.epilogue = activation | with_bias;
          product.problem.bias = with_bias != 0 ? bias.data() : nullptr;
          ASSERT_EQ(product.run(handle_, 1, 1), GEMMSMITH_STATUS_SUCCESS)
              << gemmsmithGetLastErrorString();
          expect_finished(product, bias, 1, 1);
        }
}

// Without a plan, what cuBLASLt lacks follows as a launch of ours: on every matrix of a batch, on
// nothing beside them, and only where it is lacking.
TEST_F(ApiTest, APassFinishesWhatCublasLtLacks) {
  for (const std::int32_t activation : kActivations) {
    Product product(options_);
    product.problem.epilogue = activation;
    const int finishes = gpu().finishes;
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    const bool is_lacking =
        activation == GEMMSMITH_EPILOGUE_GELU_ERF || activation == GEMMSMITH_EPILOGUE_SILU;
    EXPECT_EQ(gpu().finishes, finishes + (is_lacking ? 1 : 0)) << activation;
    EXPECT_EQ(product.d.damaged_words(), 0) << activation;
    // Warm, and beside another epilogue.
    product.problem.epilogue = GEMMSMITH_EPILOGUE_NONE;
    EXPECT_EQ(product.run_and_compare(handle_), "");
    product.problem.epilogue = activation;
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    expect_finished(product, product.c, 1, 0);  // the bias is not read
  }
}

// Interleaved results, as of attention's heads.
TEST_F(ApiTest, APassFinishesEveryMatrixOfABatch) {
  constexpr std::int64_t kM = 8, kN = 4, kK = 8, kBatch = 3;
  HostMatrix a(GEMMSMITH_R_16F, kK, kM * kBatch, kK), b(GEMMSMITH_R_16F, kK, kN * kBatch, kK);
  HostMatrix d(GEMMSMITH_R_16F, kM * kBatch, kN, kM * kBatch + 2), bias(GEMMSMITH_R_16F, kM, 1, kM);
  a.fill_whole_numbers(1);
  b.fill_whole_numbers(2);
  bias.fill_whole_numbers(3);
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = GEMMSMITH_OP_T;
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = kM;
  problem.n = kN;
  problem.k = problem.lda = problem.ldb = kK;
  problem.ldc = problem.ldd = kM * kBatch + 2;
  problem.batch = kBatch;
  problem.stride_a = kM * kK;
  problem.stride_b = kN * kK;
  problem.stride_c = problem.stride_d = kM;
  problem.epilogue = GEMMSMITH_EPILOGUE_SILU | GEMMSMITH_EPILOGUE_BIAS;
  problem.bias = bias.data();
  const float one = 1, zero = 0;
  ASSERT_EQ(gemmsmithMatmul(handle_, &problem, &one, a.data(), b.data(), &zero, nullptr, d.data(),
                            nullptr, 0, nullptr),
            GEMMSMITH_STATUS_SUCCESS)
      << gemmsmithGetLastErrorString();
  EXPECT_EQ(d.damaged_words(), 0);
  for (std::int64_t at = 0; at < kBatch; ++at)
    for (std::int64_t j = 0; j < kN; ++j)
      for (std::int64_t i = 0; i < kM; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < kK; ++l) sum += a.at(l, at * kM + i) * b.at(l, at * kN + j);
        const double expected = finished(sum, problem.epilogue, bias.at(i, 0));
        ASSERT_NEAR(d.at(at * kM + i, j), expected, std::abs(expected) / 1000 + 1e-6)
            << at << ": " << i << ", " << j;
      }
}

// F7: each as its own formula at a point where they differ by more than f16's rounding.
TEST_F(ApiTest, TheTwoGelusAreNotSwapped) {
  options_.m = 16;
  options_.n = options_.k = 8;
  for (const bool with_plan : {false, true}) {
    Product product(options_);
    if (with_plan)
      load(TableMaker().kernel(product, "sm80_mma:m16.n16.wm1.wn1.s2", 1, 0, WithEpilogues::kYes));
    HostMatrix bias(GEMMSMITH_R_16F, 16, 1, 16);
    for (std::int64_t i = 0; i < 16; ++i) bias.set(i, 0, -2);
    for (std::int64_t i = 0; i < 8; ++i) {
      for (std::int64_t j = 0; j < 16; ++j) product.a.set(i, j, 0);
    }
    product.problem.bias = bias.data();
    product.problem.epilogue = GEMMSMITH_EPILOGUE_GELU_ERF | GEMMSMITH_EPILOGUE_BIAS;
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_NEAR(product.d.at(3, 5), -0.0455003, 3e-5);
    product.problem.epilogue = GEMMSMITH_EPILOGUE_GELU_TANH | GEMMSMITH_EPILOGUE_BIAS;
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_NEAR(product.d.at(3, 5), -0.0454023, 3e-5);
  }
}

// An epilogue is another problem, and so is another bias: nothing remembered of one serves the
// other.
TEST_F(ApiTest, EachBiasIsItsOwn) {
  options_.m = options_.n = options_.k = 16;
  Product product(options_);
  HostMatrix ones(GEMMSMITH_R_16F, 16, 1, 16);
  HostMatrix twos(GEMMSMITH_R_16F, 16, 1, 16);
  for (int i = 0; i < 16; ++i) {
    ones.set(i, 0, 1);
    twos.set(i, 0, 2);
  }
  product.problem.epilogue = GEMMSMITH_EPILOGUE_BIAS;
  double with_ones = 0;
  for (int round = 0; round < 2; ++round) {
    product.problem.bias = ones.data();
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    with_ones = product.d.at(3, 4);
    product.problem.bias = twos.data();
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(product.d.at(3, 4), with_ones + 1);
  }
}

// A plan that brings its kernel with epilogues serves all of them, at the scalars it was tuned for.
TEST_F(ApiTest, APlansFusedKernelServesEveryEpilogue) {
  for (const std::int32_t type : {GEMMSMITH_R_16F, GEMMSMITH_R_16BF})
    for (const char* config : {kWithMaps, kPlain})
      for (const float beta : {0.0F, 2.0F}) {
        options_.type = type;
        Product product(options_);
        HostMatrix bias(type, options_.m, 1, options_.m, 1);
        bias.fill_whole_numbers(5);
        const float alpha = beta != 0 ? 3.0F : 1.0F;
        load(TableMaker().kernel(product, config, alpha, beta, WithEpilogues::kYes));
        for (const std::int32_t activation : kActivations)
          for (const std::int32_t with_bias : {0, static_cast<int>(GEMMSMITH_EPILOGUE_BIAS)}) {
            product.problem.epilogue = activation | with_bias;
            product.problem.bias = with_bias != 0 ? bias.data() : nullptr;
            const int launches = gpu().launches;
            const int finishes = gpu().finishes;
            ASSERT_EQ(product.run(handle_, alpha, beta), GEMMSMITH_STATUS_SUCCESS)
                << gemmsmithGetLastErrorString();
            EXPECT_EQ(gpu().launches, launches + 1);
            EXPECT_EQ(gpu().finishes, finishes);
            expect_finished(product, bias, alpha, beta);
            EXPECT_EQ(product.d.damaged_words(), 0);
            const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
            EXPECT_EQ(info.source, beta == 0 ? GEMMSMITH_SOURCE_KERNEL : GEMMSMITH_SOURCE_CUBLASLT)
                << "asked for beta = 0";
          }
        EXPECT_EQ(gpu().maps_encoded > 0, true);
      }
}

// gemmsmithPlanRun's way to the same kernels.
TEST_F(ApiTest, APreparedPlanServesEpilogues) {
  Product product(options_);
  HostMatrix bias(GEMMSMITH_R_16F, options_.m, 1, options_.m);
  bias.fill_whole_numbers(5);
  load(TableMaker().kernel(product, kWithMaps, 1, 0, WithEpilogues::kYes));
  product.problem.epilogue = GEMMSMITH_EPILOGUE_GELU_ERF | GEMMSMITH_EPILOGUE_BIAS;
  product.problem.bias = bias.data();
  gemmsmithPlan_t plan = nullptr;
  ASSERT_EQ(gemmsmithPlanCreate(handle_, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  for (int round = 0; round < 2; ++round) {
    const int launches = gpu().launches;
    ASSERT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    EXPECT_EQ(gpu().launches, launches + 1);
    expect_finished(product, bias, 1, 0);
  }
  gemmsmithPlanDestroy(plan);
}

// While a stream captures nothing is loaded: the fused kernel must be there as early as the plain
// one.
TEST_F(ApiTest, FusedKernelsAreLoadedWithTheTable) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps, 1, 0, WithEpilogues::kYes));
  product.problem.epilogue = GEMMSMITH_EPILOGUE_SILU;
  gpu().is_capturing = true;
  const int launches = gpu().launches;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(gpu().launches, launches + 1);
  gpu().is_capturing = false;
}

// A table without such kernels serves plain products alone.
TEST_F(ApiTest, PlansWithoutFusedKernelsDoNotServeEpilogues) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  product.problem.epilogue = GEMMSMITH_EPILOGUE_RELU;
  const int launches = gpu().launches;
  ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(gpu().launches, launches);
  EXPECT_GE(product.d.at(0, 0), 0);
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_CUBLASLT);
  EXPECT_STREQ(info.reason,
               "the plan has no kernel with epilogues: make the table with --epilogues");
  EXPECT_EQ(info.workspace_bytes, 64U << 20);
}

// G3: sums beyond f16's range are whole in f32.
TEST_F(ApiTest, FloatOutputIsNotRoundedToHalf) {
  options_.m = options_.n = 8;
  options_.k = 4096;
  Product product(options_);
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t p = 0; p < 4096; ++p) {
      product.a.set(p, i, 8);
      product.b.set(p, i, 8);
    }
  product.problem.output = GEMMSMITH_OUTPUT_32F;
  std::vector<float> d(64, -1);
  const float one = 1;
  const float zero = 0;
  ASSERT_EQ(gemmsmithMatmul(handle_, &product.problem, &one, product.a.data(), product.b.data(),
                            &zero, nullptr, d.data(), nullptr, 0, nullptr),
            GEMMSMITH_STATUS_SUCCESS)
      << gemmsmithGetLastErrorString();
  for (const float value : d) EXPECT_EQ(value, 262144);
  EXPECT_EQ(
      gemmsmithMatmul(handle_, &product.problem, &one, product.a.data(), product.b.data(), &zero,
                      nullptr, reinterpret_cast<char*>(d.data()) + 2, nullptr, 0, nullptr),
      GEMMSMITH_STATUS_INVALID_VALUE);
}

// alpha = 0: the epilogue of beta C, and of nothing.
TEST_F(ApiTest, NothingToMultiplyStillHasItsEpilogue) {
  for (const std::int32_t activation : kActivations)
    for (const float beta : {0.0F, 1.0F}) {
      Product product(options_);
      product.a.fill_nan();
      HostMatrix bias(GEMMSMITH_R_16F, options_.m, 1, options_.m);
      bias.fill_whole_numbers(4);
      product.problem.epilogue = activation | GEMMSMITH_EPILOGUE_BIAS;
      product.problem.bias = bias.data();
      ASSERT_EQ(product.run(handle_, 0, beta), GEMMSMITH_STATUS_SUCCESS)
          << gemmsmithGetLastErrorString();
      expect_finished(product, bias, 0, beta);
      EXPECT_EQ(product.d.damaged_words(), 0);
    }
}

TEST_F(ApiTest, NothingToMultiplyInFloatScalesC) {
  Product product(options_);
  product.problem.output = GEMMSMITH_OUTPUT_32F;
  const std::size_t count = static_cast<std::size_t>(product.problem.ldd * product.problem.n);
  std::vector<float> c(count, 0.1F);
  std::vector<float> d(count, -1);
  const float zero = 0;
  for (const float beta : {0.0F, 3.0F}) {
    ASSERT_EQ(gemmsmithMatmul(handle_, &product.problem, &zero, product.a.data(), product.b.data(),
                              &beta, c.data(), d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
    for (const float value : d) EXPECT_EQ(value, beta * 0.1F);
  }
}

// K2, K3: one thread that goes back and forth between devices; each keeps what is its own, and the
// thread's current context is left as it was.
TEST_F(ApiTest, OneThreadAlternatesDevices) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  int loaded = 0;
  for (int round = 0; round < 6; ++round)
    for (const int device : {0, 1}) {
      use_device(device);
      CUcontext before = nullptr;
      CUcontext after = nullptr;
      cuCtxGetCurrent(&before);
      const int launches = gpu().launches;
      EXPECT_EQ(product.run_and_compare(handle_), "");
      EXPECT_EQ(gpu().launches, launches + 1) << "a plan serves on both";
      cuCtxGetCurrent(&after);
      EXPECT_EQ(before, after);
      if (round == 0) loaded = gpu().modules_loaded;
    }
  EXPECT_EQ(gpu().modules_loaded, loaded) << "once a device";
}

// J8: handles, plans and tables that come and go, with new addresses each time.
TEST_F(ApiTest, TenThousandHandlesTakeNoMoreMemory) {
  if (GEMMSMITH_IS_SANITIZED) GTEST_SKIP() << "unavailable: sanitizers keep what is freed";
  const auto resident_pages = [] {
    std::ifstream file("/proc/self/statm");
    long total = 0;
    long resident = 0;
    file >> total >> resident;
    return resident;
  };
  Product product(options_);
  const std::string bytes = TableMaker().kernel(product, kWithMaps).bytes();
  const float one = 1;
  const float zero = 0;
  const auto cycle = [&] {
    gemmsmithHandle_t handle = nullptr;
    gemmsmithPlan_t plan = nullptr;
    ASSERT_EQ(gemmsmithCreate(&handle), GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle, bytes.data(), bytes.size()),
              GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithPlanCreate(handle, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithPlanDestroy(plan), GEMMSMITH_STATUS_SUCCESS);
    ASSERT_EQ(gemmsmithDestroy(handle), GEMMSMITH_STATUS_SUCCESS);
  };
  gpu().skip_work = true;
  for (int i = 0; i < 500; ++i) cycle();
  const long before = resident_pages();
  for (int i = 0; i < 10000; ++i) cycle();
  EXPECT_LE(resident_pages(), before + 256) << "a megabyte in pages";
}

TEST(Capabilities, AreTold) {
  const auto value = [](int capability) {
    std::int64_t found = -1;
    EXPECT_EQ(gemmsmithGetCapability(static_cast<gemmsmithCapability_t>(capability), &found),
              GEMMSMITH_STATUS_SUCCESS);
    return found;
  };
  EXPECT_EQ(value(GEMMSMITH_CAPABILITY_EPILOGUES), 2 | 4 | 32 | 65536 | 131072);
  EXPECT_EQ(value(GEMMSMITH_CAPABILITY_FUSED_EPILOGUES), 2 | 4 | 32 | 65536 | 131072);
  EXPECT_EQ(value(GEMMSMITH_CAPABILITY_F32_OUTPUT), 1);
  EXPECT_EQ(value(GEMMSMITH_CAPABILITY_MAX_BATCH), 2147483647);
  EXPECT_EQ(value(GEMMSMITH_CAPABILITY_OLDEST_ARCH), 80);
  EXPECT_GE(value(GEMMSMITH_CAPABILITY_PLAN_VERSION), 2);
  std::int64_t unknown = 5;
  EXPECT_EQ(gemmsmithGetCapability(static_cast<gemmsmithCapability_t>(7), &unknown),
            GEMMSMITH_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(unknown, 5);
  EXPECT_EQ(gemmsmithGetCapability(GEMMSMITH_CAPABILITY_EPILOGUES, nullptr),
            GEMMSMITH_STATUS_INVALID_VALUE);
}

struct Heard {
  std::mutex mutex;
  std::vector<std::pair<int, std::string>> lines;
  static void hear(gemmsmithLogLevel_t level, const char* text, void* user) {
    auto* heard = static_cast<Heard*>(user);
    const std::lock_guard lock(heard->mutex);
    heard->lines.emplace_back(level, text);
  }
  ~Heard() { gemmsmithSetLogCallback(nullptr, nullptr); }
};

TEST_F(ApiTest, AMissIsToldOnceWhateverThePointersAndThreads) {
  Heard heard;
  options_.m = 72;  // no other test of this process misses it
  ASSERT_EQ(gemmsmithSetLogCallback(&Heard::hear, &heard), GEMMSMITH_STATUS_SUCCESS);
  Product product(options_);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      use_device(0);
      Product other(options_);
      EXPECT_EQ(other.run_and_compare(handle_), "");
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(heard.lines.size(), 1U);
  EXPECT_EQ(heard.lines[0].first, GEMMSMITH_LOG_HINT);
  EXPECT_EQ(heard.lines[0].second,
            "no plan serves 64_72_64 f16/f32 tn: no plan table is loaded for this device");
  product.problem.m = -1;
  EXPECT_EQ(product.run(handle_), GEMMSMITH_STATUS_INVALID_VALUE);
  ASSERT_EQ(heard.lines.size(), 2U);
  EXPECT_EQ(heard.lines[1], std::make_pair(static_cast<int>(GEMMSMITH_LOG_ERROR),
                                           std::string("m = -1: a size must not be negative")));
}

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return *make_problem(problem);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MissList, WritesAShapeListThatTuneReads) {
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "misses.csv";
  MissList list(path.string());
  Problem padded = shape(512, 32005, 768);
  padded.ldd = 32008;
  padded.type = DataType::kBf16;
  padded.layout = Layout::kNT;
  padded.lda = 512;
  padded.ldb = 32005;
  padded.alpha = 0.088F;
  padded.beta = 1;
  EXPECT_TRUE(list.note(shape(64, 4096, 64)));
  EXPECT_TRUE(list.note(padded));
  EXPECT_FALSE(list.note(shape(64, 4096, 64)));
  EXPECT_EQ(list.write(), "");
  EXPECT_FALSE(list.has_unwritten());
  EXPECT_TRUE(list.note(shape(1, 1, 1)));
  EXPECT_EQ(list.write(), "");
  const auto read = read_shape_list(path, Problem{});
  ASSERT_TRUE(read) << read.error().what;
  std::set<std::string> described;
  for (const Problem& problem : *read) described.insert(describe(problem));
  EXPECT_EQ(described, (std::set<std::string>{describe(shape(64, 4096, 64)), describe(padded),
                                              describe(shape(1, 1, 1))}));
}

// Several processes, or several runs, may share one file.
TEST(MissList, AppendsToAnotherProcessesFile) {
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "misses.csv";
  MissList first(path.string());
  MissList second(path.string());
  first.note(shape(8, 8, 8));
  second.note(shape(16, 16, 16));
  EXPECT_EQ(first.write(), "");
  EXPECT_EQ(second.write(), "");
  const auto read = read_shape_list(path, Problem{});
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->size(), 2U);
}

TEST(MissList, ProcessNumberInTheName) {
  const testing::ScratchFolder scratch;
  MissList list((scratch.path() / "misses_%i.csv").string());
  list.note(shape(8, 8, 8));
  EXPECT_EQ(list.write(), "");
  EXPECT_TRUE(
      std::filesystem::exists(scratch.path() / ("misses_" + std::to_string(getpid()) + ".csv")));
}

TEST(MissList, AFileThatCannotBeWrittenIsToldOnce) {
  MissList list("/nonexistent/folder/misses.csv");
  list.note(shape(8, 8, 8));
  EXPECT_EQ(list.write(),
            "cannot write GEMMSMITH_RECORD=/nonexistent/folder/misses.csv: No such file or "
            "directory; problems are no longer recorded");
  list.note(shape(16, 8, 8));
  EXPECT_EQ(list.write(), "");
}

// The process waited at its end.
TEST(MissList, APipeThatNobodyReadsIsNotWaitedFor) {
  const testing::ScratchFolder scratch;
  const std::string pipe = (scratch.path() / "misses").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  MissList list(pipe);
  list.note(shape(8, 8, 8));
  EXPECT_EQ(list.write(), "cannot write GEMMSMITH_RECORD=" + pipe +
                              ": a pipe that nobody reads; problems are no longer recorded");
}

// M12: shapes that never end fill the list and cost no more.
TEST(MissList, StaysBounded) {
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "misses.csv";
  MissList list(path.string());
  std::size_t noted = 0;
  for (int i = 1; i <= 20000; ++i) noted += list.note(shape(8, 8, i)) ? 1 : 0;
  EXPECT_EQ(noted, MissList::kMost);
  EXPECT_EQ(list.write(), "");
  const std::string text = text_of(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(MissList::kMost) + 1);
}

// J6: threads that meet a problem together note it once.
TEST(MissList, ThreadsNoteEachProblemOnce) {
  const testing::ScratchFolder scratch;
  MissList list((scratch.path() / "misses.csv").string());
  std::atomic<int> noted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 1; i <= 500; ++i) {
        if (list.note(shape(8, i, 8))) ++noted;
        if (i % 100 == 0) {
          EXPECT_EQ(list.write(), "");
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(noted, 500);
}

}  // namespace
}  // namespace gemmsmith::runtime
