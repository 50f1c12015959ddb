#include "runtime/fixture.h"

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gemmsmith::runtime {
namespace {

constexpr std::size_t kGuardWords = 256;
constexpr std::uint16_t kGuard = 0x5A5A;

// Before the first use of the driver, which is looked for once in a process.
struct Environment {
  Environment() {
    setenv("GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_GPU, 1);
    setenv("GEMMSMITH_CUBLASLT", GEMMSMITH_FAKE_CUBLASLT, 1);
  }
};
const Environment environment;

std::uint16_t encode(std::int32_t type, double value) {
  std::uint16_t bits = 0;
  if (type == GEMMSMITH_R_16F) {
    const __half half = __float2half(static_cast<float>(value));
    std::memcpy(&bits, &half, sizeof bits);
  } else {
    const __nv_bfloat16 half = __float2bfloat16(static_cast<float>(value));
    std::memcpy(&bits, &half, sizeof bits);
  }
  return bits;
}

double decode(std::int32_t type, std::uint16_t bits) {
  if (type == GEMMSMITH_R_16F) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}

}  // namespace

FakeCublasLt& fake_lt() {
  static FakeCublasLt* state = [] {
    void* module = dlopen(GEMMSMITH_FAKE_CUBLASLT, RTLD_NOW);
    const auto get = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(module, "fake_cublaslt_state"));
    return get();
  }();
  return *state;
}

HostMatrix::HostMatrix(std::int32_t type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                       std::int64_t offset)
    : type_(type), rows_(rows), columns_(columns), ld_(ld) {
  const auto count = static_cast<std::size_t>(ld * columns);
  words_.assign(count + static_cast<std::size_t>(offset) + 3 * kGuardWords, kGuard);
  const auto address = reinterpret_cast<std::uintptr_t>(words_.data() + kGuardWords);
  begin_ = kGuardWords + (256 - address % 256) % 256 / 2 + static_cast<std::size_t>(offset);
}

std::uint16_t* HostMatrix::elements() { return words_.data() + begin_; }

double HostMatrix::at(std::int64_t row, std::int64_t column) const {
  return decode(type_, words_[begin_ + static_cast<std::size_t>(row + column * ld_)]);
}

void HostMatrix::set(std::int64_t row, std::int64_t column, double value) {
  words_[begin_ + static_cast<std::size_t>(row + column * ld_)] = encode(type_, value);
}

void HostMatrix::fill_whole_numbers(int seed) {
  std::uint32_t x = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (std::int64_t j = 0; j < columns_; ++j)
    for (std::int64_t i = 0; i < rows_; ++i) {
      x = x * 1664525U + 1013904223U;
      set(i, j, static_cast<int>((x >> 24) % 5) - 2);
    }
}

void HostMatrix::fill_nan() {
  for (std::int64_t j = 0; j < columns_; ++j)
    for (std::int64_t i = 0; i < rows_; ++i) set(i, j, std::nan(""));
}

int HostMatrix::damaged_words() const {
  int damaged = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(begin_);
    const bool is_element = at >= 0 && at < ld_ * columns_ && at % ld_ < rows_;
    if (!is_element && words_[i] != kGuard) ++damaged;
  }
  return damaged;
}

namespace {

gemmsmithProblem_t problem_of(const ProductOptions& o) {
  const bool ta = o.transa != GEMMSMITH_OP_N;
  const bool tb = o.transb != GEMMSMITH_OP_N;
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = o.transa;
  problem.transb = o.transb;
  problem.type = o.type;
  problem.compute_type = o.compute_type;
  problem.pointer_mode = GEMMSMITH_POINTER_MODE_HOST;
  problem.m = o.m;
  problem.n = o.n;
  problem.k = o.k;
  problem.lda = std::max<std::int64_t>(1, ta ? o.k : o.m) + o.pad_a;
  problem.ldb = std::max<std::int64_t>(1, tb ? o.n : o.k) + o.pad_b;
  problem.ldc = std::max<std::int64_t>(1, o.m) + o.pad_c;
  problem.ldd = std::max<std::int64_t>(1, o.m) + o.pad_d;
  return problem;
}

}  // namespace

Product::Product(const ProductOptions& o)
    : problem(problem_of(o)),
      a(o.type, o.transa != 0 ? o.k : o.m, o.transa != 0 ? o.m : o.k, problem.lda, o.offset_a),
      b(o.type, o.transb != 0 ? o.n : o.k, o.transb != 0 ? o.k : o.n, problem.ldb, o.offset_b),
      c(o.type, o.m, o.n, problem.ldc, o.offset_c),
      d(o.type, o.m, o.n, problem.ldd, o.offset_d),
      options_(o) {
  a.fill_whole_numbers(1);
  b.fill_whole_numbers(2);
  c.fill_whole_numbers(3);
  d.fill_nan();
}

gemmsmithStatus_t Product::run(gemmsmithHandle_t handle, float alpha, float beta, bool c_is_d) {
  const __half half_alpha = __float2half(alpha);
  const __half half_beta = __float2half(beta);
  const bool is_half = options_.compute_type == GEMMSMITH_COMPUTE_16F;
  const auto address = reinterpret_cast<std::uintptr_t>(workspace_storage.data());
  void* workspace =
      workspace_bytes == 0 ? nullptr : workspace_storage.data() + (256 - address % 256) % 256;
  return gemmsmithMatmul(handle, &problem, is_half ? static_cast<const void*>(&half_alpha) : &alpha,
                         a.data(), b.data(), is_half ? static_cast<const void*>(&half_beta) : &beta,
                         c_is_d ? d.data() : c.data(), d.data(), workspace, workspace_bytes,
                         stream);
}

std::string Product::difference(float alpha, float beta) const {
  const bool ta = options_.transa != GEMMSMITH_OP_N;
  const bool tb = options_.transb != GEMMSMITH_OP_N;
  for (std::int64_t j = 0; j < options_.n; ++j)
    for (std::int64_t i = 0; i < options_.m; ++i) {
      double sum = 0;
      if (alpha != 0)
        for (std::int64_t p = 0; p < options_.k; ++p)
          sum += (ta ? a.at(p, i) : a.at(i, p)) * (tb ? b.at(j, p) : b.at(p, j));
      double expected = static_cast<double>(alpha) * sum;
      if (beta != 0) expected += static_cast<double>(beta) * c.at(i, j);
      if (d.at(i, j) != expected)
        return "D(" + std::to_string(i) + ", " + std::to_string(j) + ") is " +
               std::to_string(d.at(i, j)) + ", not " + std::to_string(expected);
    }
  for (const HostMatrix* matrix : {&a, &b, &c, &d})
    if (matrix->damaged_words() != 0) return "something outside a matrix was written";
  return "";
}

std::string Product::run_and_compare(gemmsmithHandle_t handle, float alpha, float beta) {
  d.fill_nan();
  const gemmsmithStatus_t status = run(handle, alpha, beta);
  if (status != GEMMSMITH_STATUS_SUCCESS)
    return std::string(gemmsmithGetStatusName(status)) + ": " + gemmsmithGetLastErrorString();
  return difference(alpha, beta);
}

RuntimeTest::RuntimeTest() {
  fake_gpu().reset();
  FakeCublasLt& lt = fake_lt();
  const int live = lt.live_objects;
  lt.~FakeCublasLt();
  new (&lt) FakeCublasLt();
  lt.live_objects = live;
  use_device(0);
  EXPECT_EQ(gemmsmithCreate(&handle_), GEMMSMITH_STATUS_SUCCESS);
}

RuntimeTest::~RuntimeTest() {
  fake_gpu().is_capturing = false;
  EXPECT_EQ(gemmsmithDestroy(handle_), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(fake_gpu().modules_loaded, fake_gpu().modules_unloaded);
  EXPECT_EQ(fake_lt().live_objects, 0);
  EXPECT_EQ(fake_gpu().contexts_retained, 0);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  cuThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the library gives the thread's mode back";
}

void RuntimeTest::use_device(int ordinal) {
  CUcontext context = nullptr;
  if (ordinal >= 0) {
    cuDevicePrimaryCtxRetain(&context, ordinal);
    cuDevicePrimaryCtxRelease(ordinal);
  }
  cuCtxSetCurrent(context);
}

gemmsmithPlanInfo_t plan_info(gemmsmithHandle_t handle, const gemmsmithProblem_t& problem) {
  gemmsmithPlanInfo_t info = {};
  info.size = sizeof info;
  EXPECT_EQ(gemmsmithGetPlanInfo(handle, &problem, &info), GEMMSMITH_STATUS_SUCCESS)
      << gemmsmithGetLastErrorString();
  return info;
}

}  // namespace gemmsmith::runtime
