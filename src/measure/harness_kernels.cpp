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

using gemmsmith_kernels::Matrices;
using gemmsmith_kernels::OperandStrides;

// Of A(i, l) and B(l, j).
OperandStrides strides_of_a(const Problem& p) {
  const bool along_k = a_is_k_contiguous(p.layout);
  return {along_k ? p.lda : 1, along_k ? 1 : p.lda, stored_a(p).stride};
}
OperandStrides strides_of_b(const Problem& p) {
  const bool along_k = b_is_k_contiguous(p.layout);
  return {along_k ? 1 : p.ldb, along_k ? p.ldb : 1, stored_b(p).stride};
}

Matrices matrices_of(const MatrixShape& shape) {
  return {shape.rows, shape.cols, shape.ld, shape.batch, shape.stride};
}

std::int64_t count_of(const Matrices& shape) { return shape.batch * shape.rows * shape.cols; }

// What to fill: each element once, so that its value does not depend on who comes last.
Matrices fillable(const MatrixShape& shape) {
  Matrices whole = matrices_of(shape);
  if (shape.matrices_are_apart()) return whole;
  if (shape.distinct() == 1) {
    whole.batch = 1;
    return whole;
  }
  return {1, shape.extent(), shape.extent(), 1, 0};
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
  Matrices matrices = fillable(shape);
  int code = type_code(type);
  unsigned long long s = seed, q = sequence;
  Arguments arguments(data, matrices, code, s, q);
  return launch(fill_normal_, ceil_div(count_of(matrices), kThreads), stream, arguments.pointers,
                "filling an operand with random values");
}

Result<void> HarnessKernels::fill_integers(CUstream stream, CUdeviceptr data,
                                           const MatrixShape& shape, DataType type, int low,
                                           int high, std::uint64_t seed,
                                           std::uint64_t sequence) const {
  Matrices matrices = fillable(shape);
  int code = type_code(type);
  unsigned long long s = seed, q = sequence;
  Arguments arguments(data, matrices, code, low, high, s, q);
  return launch(fill_integers_, ceil_div(count_of(matrices), kThreads), stream, arguments.pointers,
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
  Matrices matrices = matrices_of(shape);
  int code = type_code(type);
  int bits = bitwise ? 1 : 0;
  Arguments arguments(actual, expected, matrices, code, bits, report);
  return launch(compare_exact_, ceil_div(count_of(matrices), kThreads), stream, arguments.pointers,
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
  Matrices matrices = matrices_of(shape);
  int word_shift = shape.element_bytes == 4 ? 1 : 0;
  unsigned short p = pattern;
  Arguments arguments(buffer, words, offset, matrices, word_shift, p, report);
  return launch(check_guard_, ceil_div(words, kThreads), stream, arguments.pointers,
                "checking guard words");
}

Result<void> HarnessKernels::reference_sampled(CUstream stream, const Problem& problem,
                                               const plan::Operands& operands,
                                               CUdeviceptr positions, int samples, CUdeviceptr sums,
                                               CUdeviceptr magnitudes) const {
  OperandStrides strides_a = strides_of_a(problem);
  OperandStrides strides_b = strides_of_b(problem);
  int code = type_code(problem.type);
  long long k = problem.k;
  const void* a = operands.a;
  const void* b = operands.b;
  Arguments arguments(a, strides_a, b, strides_b, code, k, positions, samples, sums, magnitudes);
  return launch(reference_sampled_, samples, stream, arguments.pointers,
                "summing a reference in FP64");
}

Result<void> HarnessKernels::gather(CUstream stream, CUdeviceptr data, const MatrixShape& shape,
                                    DataType type, CUdeviceptr positions, int samples,
                                    CUdeviceptr values) const {
  Matrices matrices = matrices_of(shape);
  int code = type_code(type);
  Arguments arguments(data, matrices, code, positions, samples, values);
  return launch(gather_sampled_, ceil_div(samples, kThreads), stream, arguments.pointers,
                "gathering results");
}

Result<void> HarnessKernels::error_norms(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                                         const MatrixShape& shape, DataType type,
                                         CUdeviceptr norms) const {
  Matrices matrices = matrices_of(shape);
  int code = type_code(type);
  Arguments arguments(actual, expected, matrices, code, norms);
  return launch(error_norms_, ceil_div(count_of(matrices), kThreads), stream, arguments.pointers,
                "computing error norms");
}

Result<void> HarnessKernels::reference(CUstream stream, const Problem& problem,
                                       const plan::Operands& operands) const {
  OperandStrides strides_a = strides_of_a(problem);
  OperandStrides strides_b = strides_of_b(problem);
  const void* a = operands.a;
  const void* b = operands.b;
  const void* c = operands.c;
  void* d = operands.d;
  long long ldc = problem.ldc, ldd = problem.ldd;
  long long stride_c = stored_c(problem).stride, stride_d = stored_d(problem).stride;
  int m = static_cast<int>(problem.m), n = static_cast<int>(problem.n),
      k = static_cast<int>(problem.k), batch = static_cast<int>(problem.batch);
  float alpha = problem.alpha, beta = problem.beta;
  int code = type_code(problem.type);
  int output = type_code(problem.output_type());
  int double_sum = 1;
  Arguments arguments(a, strides_a, b, strides_b, c, ldc, stride_c, d, ldd, stride_d, m, n, k,
                      batch, alpha, beta, code, output, double_sum);
  constexpr std::int64_t kTile = 16;
  return launch(reference_gemm_, batch * ceil_div(m, kTile) * ceil_div(n, kTile), stream,
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
