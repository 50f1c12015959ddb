#include "fake_fixture.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <cstdlib>

namespace gemmsmith::vendor {

ScopedEnv::ScopedEnv(const char* name, const std::string& value) : name_(name) {
  setenv(name, value.c_str(), 1);
}
ScopedEnv::~ScopedEnv() { unsetenv(name_); }

FakeLibraryTest::FakeLibraryTest() {
  module_ = dlopen(GEMMSMITH_FAKE_CUBLASLT, RTLD_NOW);
  const auto get = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(module_, "fake_cublaslt_state"));
  fake_ = get();
  const int live = fake_->live_objects;
  fake_->~FakeCublasLt();
  new (fake_) FakeCublasLt();
  fake_->live_objects = live;
}

FakeLibraryTest::~FakeLibraryTest() {
  EXPECT_EQ(fake_->live_objects, 0);
  dlclose(module_);
}

std::shared_ptr<const LtHandle> FakeLibraryTest::handle() {
  auto library = BlasLibrary::open();
  if (!library) ADD_FAILURE() << library.error().what;
  auto created = LtHandle::create(*library);
  if (!created) ADD_FAILURE() << created.error().what;
  return *created;
}

Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, Layout layout) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.layout = layout;
  auto made = make_problem(problem);
  if (!made) ADD_FAILURE() << made.error().what;
  return *made;
}

namespace {

std::uint16_t encode(DataType type, int value) {
  const auto number = static_cast<float>(value);
  if (type == DataType::kF16) return __half_raw(__float2half(number)).x;
  return __nv_bfloat16_raw(__float2bfloat16(number)).x;
}

// A fixed pattern of -2 .. 2 that repeats nowhere within a test's matrix.
std::vector<std::uint16_t> pattern(DataType type, std::int64_t count, int seed) {
  std::vector<std::uint16_t> matrix;
  std::uint32_t x = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    matrix.push_back(encode(type, static_cast<int>((x >> 24) % 5) - 2));
  }
  return matrix;
}

}  // namespace

HostProduct::HostProduct(const Problem& p)
    : problem_(p),
      a_(pattern(p.type, (a_is_k_contiguous(p.layout) ? p.m : p.k) * p.lda, 1)),
      b_(pattern(p.type, (b_is_k_contiguous(p.layout) ? p.n : p.k) * p.ldb, 2)),
      c_(pattern(p.type, p.m * p.ldc, 3)),
      d_(pattern(p.type, p.m * p.ldd, 4)),
      initial_d_(d_) {}

double HostProduct::value(const std::vector<std::uint16_t>& matrix, std::int64_t index) const {
  const std::uint16_t bits = matrix.at(static_cast<std::size_t>(index));
  if (problem_.type == DataType::kF16) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}

std::string HostProduct::difference(bool in_place) const {
  const Problem& p = problem_;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.ldd; ++j) {
      double expected = value(initial_d_, i * p.ldd + j);  // padding stays
      if (j < p.n) {
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum += value(a_, a_is_k_contiguous(p.layout) ? i * p.lda + l : l * p.lda + i) *
                 value(b_, b_is_k_contiguous(p.layout) ? j * p.ldb + l : l * p.ldb + j);
        const double c = in_place ? value(initial_d_, i * p.ldd + j) : value(c_, i * p.ldc + j);
        expected = static_cast<double>(p.alpha) * sum + static_cast<double>(p.beta) * c;
      }
      const double actual = value(d_, i * p.ldd + j);
      if (actual != expected)
        return fmt::format("{}: D[{}][{}] = {}, expected {}", describe(p), i, j, actual, expected);
    }
  return {};
}

}  // namespace gemmsmith::vendor
