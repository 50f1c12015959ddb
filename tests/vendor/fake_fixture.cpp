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
      a_(pattern(p.type, words(p, stored_a(p)), 1)),
      b_(pattern(p.type, words(p, stored_b(p)), 2)),
      c_(pattern(p.type, words(p, stored_c(p)), 3)),
      d_(pattern(p.type, words(p, stored_d(p)), 4)),
      initial_d_(d_) {}

// Whole rows, padding behind the last one included.
std::int64_t HostProduct::words(const Problem& p, const MatrixShape& shape) {
  return (p.is_batched() ? (p.batch - 1) * shape.stride : 0) + shape.rows * shape.ld;
}

double HostProduct::value(const std::vector<std::uint16_t>& matrix, std::int64_t index) const {
  const std::uint16_t bits = matrix.at(static_cast<std::size_t>(index));
  if (problem_.type == DataType::kF16) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}

std::string HostProduct::difference(bool in_place) const {
  const Problem& p = problem_;
  std::vector<double> expected;  // padding stays
  for (std::size_t at = 0; at < d_.size(); ++at)
    expected.push_back(value(initial_d_, static_cast<std::int64_t>(at)));
  for (std::int64_t matrix = 0; matrix < p.batch; ++matrix)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t a = matrix * stored_a(p).stride;
        const std::int64_t b = matrix * stored_b(p).stride;
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum += value(a_, a + (a_is_k_contiguous(p.layout) ? i * p.lda + l : l * p.lda + i)) *
                 value(b_, b + (b_is_k_contiguous(p.layout) ? j * p.ldb + l : l * p.ldb + j));
        const std::int64_t d = matrix * stored_d(p).stride + i * p.ldd + j;
        const double c = in_place ? value(initial_d_, d)
                                  : value(c_, matrix * stored_c(p).stride + i * p.ldc + j);
        expected[static_cast<std::size_t>(d)] =
            static_cast<double>(p.alpha) * sum + static_cast<double>(p.beta) * c;
      }
  for (std::size_t at = 0; at < d_.size(); ++at) {
    const double actual = value(d_, static_cast<std::int64_t>(at));
    if (actual != expected[at])
      return fmt::format("{}: word {} of D = {}, expected {}", describe(p), at, actual,
                         expected[at]);
  }
  return {};
}

}  // namespace gemmsmith::vendor
