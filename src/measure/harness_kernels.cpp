#include "measure/harness_kernels.h"

#include <algorithm>
#include <utility>

#include "base/numbers.h"

namespace gemmsmith {
namespace {

constexpr int kThreads = 256;
// The kernels stride over the grid, so this only decides how full the SMs are.
constexpr int kBlocksPerSm = 8;

int type_code(DataType type) {
  switch (type) {
    case DataType::kF16:
      return 0;
    case DataType::kBf16:
      return 1;
    case DataType::kF32:
      return 2;
  }
  return 2;
}

// Strides of A(i, l) and B(l, j) for any layout.
struct Strides {
  long long a_row, a_col, b_row, b_col;
};
Strides strides(const Problem& p) {
  Strides s = {};
  s.a_row = a_is_k_contiguous(p.layout) ? p.lda : 1;
  s.a_col = a_is_k_contiguous(p.layout) ? 1 : p.lda;
  s.b_row = b_is_k_contiguous(p.layout) ? 1 : p.ldb;
  s.b_col = b_is_k_contiguous(p.layout) ? p.ldb : 1;
  return s;
}

// cuLaunchKernel wants the address of each argument; the arguments live in the caller's frame.
template <class... Args>
struct Arguments {
  explicit Arguments(Args&... args)
      : pointers{const_cast<void*>(static_cast<const void*>(&args))...} {}
  void* pointers[sizeof...(Args)];
};

}  // namespace

Result<HarnessKernels> HarnessKernels::load(const Driver& driver, const HarnessCubins& cubins,
                                            int sm_count) {
  HarnessKernels kernels;
  kernels.driver_ = &driver;
  kernels.sm_count_ = sm_count;
  GEMMSMITH_TRY(kernels.harness_module_, Module::load(driver, cubins.harness, "harness.cu"));
  GEMMSMITH_TRY(kernels.reference_module_, Module::load(driver, cubins.reference, "reference.cu"));
  GEMMSMITH_TRY(kernels.pack_module_, Module::load(driver, cubins.pack, "pack.cu"));
  const std::pair<const char*, CUfunction*> functions[] = {
      {"fill_normal", &kernels.fill_normal_},
      {"fill_integers", &kernels.fill_integers_},
      {"fill_pattern", &kernels.fill_pattern_},
      {"compare_exact", &kernels.compare_exact_},
      {"compare_words", &kernels.compare_words_},
      {"check_guard", &kernels.check_guard_},
      {"reference_sampled", &kernels.reference_sampled_},
      {"gather_sampled", &kernels.gather_sampled_},
      {"error_norms", &kernels.error_norms_},
      {"foreign_pass", &kernels.foreign_pass_},
      {"empty_kernel", &kernels.empty_kernel_}};
  for (const auto& [name, function] : functions) {
    GEMMSMITH_TRY(*function, kernels.harness_module_.function(name));
  }
  GEMMSMITH_TRY(kernels.reference_gemm_, kernels.reference_module_.function("reference_gemm"));
  GEMMSMITH_TRY(kernels.pack_, kernels.pack_module_.function("pack"));
  return kernels;
}

Result<void> HarnessKernels::launch(CUfunction function, std::int64_t work, CUstream stream,
                                    void** arguments, const char* doing) const {
  const std::int64_t most = std::int64_t{sm_count_} * kBlocksPerSm;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(work, 1, most));
  return check(
      *driver_,
      driver_->LaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr),
      doing);
}

Result<void> HarnessKernels::fill_normal(CUstream stream, CUdeviceptr data,
                                         const MatrixShape& shape, DataType type,
                                         std::uint64_t seed, std::uint64_t sequence) const {
  long long rows = shape.rows, cols = shape.cols, ld = shape.ld;
  int code = type_code(type);
  unsigned long long s = seed, q = sequence;
  Arguments arguments(data, rows, cols, ld, code, s, q);
  return launch(fill_normal_, ceil_div(rows * cols, kThreads), stream, arguments.pointers,
                "filling an operand with random values");
}

Result<void> HarnessKernels::fill_integers(CUstream stream, CUdeviceptr data,
                                           const MatrixShape& shape, DataType type, int low,
                                           int high, std::uint64_t seed,
                                           std::uint64_t sequence) const {
  long long rows = shape.rows, cols = shape.cols, ld = shape.ld;
  int code = type_code(type);
  unsigned long long s = seed, q = sequence;
  Arguments arguments(data, rows, cols, ld, code, low, high, s, q);
  return launch(fill_integers_, ceil_div(rows * cols, kThreads), stream, arguments.pointers,
                "filling an operand with integers");
}

Result<void> HarnessKernels::fill_pattern(CUstream stream, CUdeviceptr words, std::int64_t count,
                                          std::uint16_t pattern) const {
  long long n = count;
  unsigned short p = pattern;
  Arguments arguments(words, n, p);
  return launch(fill_pattern_, ceil_div(count, kThreads), stream, arguments.pointers,
                "poisoning an output");
}

Result<void> HarnessKernels::compare(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                                     const MatrixShape& shape, DataType type, bool bitwise,
                                     CUdeviceptr report) const {
  long long rows = shape.rows, cols = shape.cols, ld = shape.ld;
  int code = type_code(type);
  int bits = bitwise ? 1 : 0;
  Arguments arguments(actual, ld, expected, ld, rows, cols, code, bits, report);
  return launch(compare_exact_, ceil_div(rows * cols, kThreads), stream, arguments.pointers,
                "comparing results");
}

Result<void> HarnessKernels::compare_words(CUstream stream, CUdeviceptr actual,
                                           CUdeviceptr expected, std::int64_t count,
                                           CUdeviceptr report) const {
  long long n = count;
  Arguments arguments(actual, expected, n, report);
  return launch(compare_words_, ceil_div(count, kThreads), stream, arguments.pointers,
                "comparing inputs with their copy");
}

Result<void> HarnessKernels::check_guard(CUstream stream, CUdeviceptr base, const Region& region,
                                         const MatrixShape& shape, std::uint16_t pattern,
                                         CUdeviceptr report) const {
  CUdeviceptr buffer = base + static_cast<CUdeviceptr>(region.band_start);
  long long words = region.words(), offset = region.offset_words();
  long long rows = shape.rows, cols = shape.cols, ld = shape.ld;
  unsigned short p = pattern;
  Arguments arguments(buffer, words, offset, rows, cols, ld, p, report);
  return launch(check_guard_, ceil_div(words, kThreads), stream, arguments.pointers,
                "checking guard words");
}

Result<void> HarnessKernels::reference_sampled(CUstream stream, const Problem& problem,
                                               const plan::Operands& operands,
                                               CUdeviceptr positions, int samples, CUdeviceptr sums,
                                               CUdeviceptr magnitudes) const {
  Strides s = strides(problem);
  int code = type_code(problem.type);
  long long k = problem.k;
  const void* a = operands.a;
  const void* b = operands.b;
  Arguments arguments(a, s.a_row, s.a_col, b, s.b_row, s.b_col, code, k, positions, samples, sums,
                      magnitudes);
  return launch(reference_sampled_, samples, stream, arguments.pointers,
                "summing a reference in FP64");
}

Result<void> HarnessKernels::gather(CUstream stream, CUdeviceptr data, std::int64_t ld,
                                    DataType type, CUdeviceptr positions, int samples,
                                    CUdeviceptr values) const {
  long long stride = ld;
  int code = type_code(type);
  Arguments arguments(data, stride, code, positions, samples, values);
  return launch(gather_sampled_, ceil_div(samples, kThreads), stream, arguments.pointers,
                "gathering results");
}

Result<void> HarnessKernels::error_norms(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                                         const MatrixShape& shape, DataType type,
                                         CUdeviceptr norms) const {
  long long rows = shape.rows, cols = shape.cols, ld = shape.ld;
  int code = type_code(type);
  Arguments arguments(actual, ld, expected, ld, rows, cols, code, norms);
  return launch(error_norms_, ceil_div(rows * cols, kThreads), stream, arguments.pointers,
                "computing error norms");
}

Result<void> HarnessKernels::reference(CUstream stream, const Problem& problem,
                                       const plan::Operands& operands) const {
  Strides s = strides(problem);
  const void* a = operands.a;
  const void* b = operands.b;
  const void* c = operands.c;
  void* d = operands.d;
  long long ldc = problem.ldc, ldd = problem.ldd;
  int m = static_cast<int>(problem.m), n = static_cast<int>(problem.n),
      k = static_cast<int>(problem.k);
  float alpha = problem.alpha, beta = problem.beta;
  int code = type_code(problem.type);
  int double_sum = 1;
  Arguments arguments(a, s.a_row, s.a_col, b, s.b_row, s.b_col, c, ldc, d, ldd, m, n, k, alpha,
                      beta, code, double_sum);
  constexpr std::int64_t kTile = 16;
  return launch(reference_gemm_, ceil_div(m, kTile) * ceil_div(n, kTile), stream,
                arguments.pointers, "computing a reference");
}

Result<void> HarnessKernels::foreign_pass(CUstream stream, CUdeviceptr floats,
                                          std::int64_t count) const {
  long long n = count;
  Arguments arguments(floats, n);
  return launch(foreign_pass_, ceil_div(count, kThreads), stream, arguments.pointers,
                "launching the foreign pass");
}

Result<void> HarnessKernels::empty(CUstream stream) const {
  return check(*driver_,
               driver_->LaunchKernel(empty_kernel_, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr),
               "launching the empty kernel");
}

}  // namespace gemmsmith
