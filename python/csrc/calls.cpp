#include "calls.h"

#include <algorithm>
#include <limits>

namespace gemmsmith::python {
namespace {

using blas::GemmCall;

// A matrix as the column-major library sees its memory: `op` is what makes it the transposed one.
struct Operand {
  std::int32_t op = CUBLAS_OP_N;
  std::int64_t ld = 0;
};

// None where neither dimension is contiguous. The stride of a dimension of size 1 means nothing.
std::optional<Operand> operand_of(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                  std::int64_t column_stride) {
  if (column_stride == 1 || columns == 1) {
    const std::int64_t ld = rows == 1 ? columns : row_stride;
    if (ld >= columns && (columns != 1 || column_stride == 1 || ld >= 1))
      return Operand{CUBLAS_OP_N, std::max<std::int64_t>(1, ld)};
  }
  if (row_stride == 1 || rows == 1) {
    const std::int64_t ld = columns == 1 ? rows : column_stride;
    if (ld >= rows) return Operand{CUBLAS_OP_T, std::max<std::int64_t>(1, ld)};
  }
  return std::nullopt;
}

// Of the matrix, or of each matrix of the batch.
std::optional<Operand> operand_of(const Tensor& tensor) {
  const auto at = static_cast<std::size_t>(tensor.dim() - 2);
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  return operand_of(sizes[at], sizes[at + 1], strides[at], strides[at + 1]);
}

bool is_half(ScalarType type) { return type == ScalarType::Half || type == ScalarType::BFloat16; }

bool is_size(std::int64_t size) {
  return size > 0 && size <= std::numeric_limits<std::int32_t>::max();
}

// An m x k times a k x n matrix.
gemmsmithProblem_t problem_of(ScalarType type, std::int64_t m, std::int64_t n, std::int64_t k,
                              const Operand& a, const Operand& b) {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = b.op;
  problem.transb = a.op;
  problem.type = type == ScalarType::BFloat16 ? GEMMSMITH_R_16BF : GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = n;
  problem.n = m;
  problem.k = k;
  problem.lda = b.ld;
  problem.ldb = a.ld;
  problem.ldc = problem.ldd = n;
  return problem;
}

// The strides of a batch of one mean nothing.
void set_batch(gemmsmithProblem_t& problem, std::int64_t batch, std::int64_t stride_a,
               std::int64_t stride_b) {
  problem.batch = batch;
  problem.stride_a = stride_b;
  problem.stride_b = stride_a;
  problem.stride_c = problem.stride_d = problem.m * problem.n;
}

}  // namespace

bool is_covered(const Tensor& a, const Tensor& b) {
  const std::int64_t dim = a.dim();
  if ((dim != 2 && dim != 3) || b.dim() != dim) return false;
  const ScalarType type = a.scalar_type();
  if (!is_half(type) || b.scalar_type() != type || !are_together(a, b)) return false;
  const auto a_sizes = a.sizes();
  const auto b_sizes = b.sizes();
  const auto at = static_cast<std::size_t>(dim - 2);
  if (dim == 3 && (!is_size(a_sizes[0]) || a_sizes[0] != b_sizes[0])) return false;
  return a_sizes[at + 1] == b_sizes[at] && is_size(a_sizes[at]) && is_size(a_sizes[at + 1]) &&
         is_size(b_sizes[at + 1]);
}

std::array<std::int64_t, 3> batch_sizes(const Tensor& a, const Tensor& b) {
  return {a.sizes()[0], a.sizes()[1], b.sizes()[2]};
}

std::array<std::int64_t, 2> matrix_sizes(const Tensor& a, const Tensor& b) {
  return {a.sizes()[0], b.sizes()[1]};
}

std::optional<GemmCall> call_of(const Tensor& a, const Tensor& b, const Tensor& d) {
  const auto op_a = operand_of(a);
  const auto op_b = operand_of(b);
  if (!op_a || !op_b) return std::nullopt;
  const auto a_sizes = a.sizes();
  const auto at = static_cast<std::size_t>(a.dim() - 2);
  GemmCall call;
  call.problem =
      problem_of(a.scalar_type(), a_sizes[at], b.sizes()[at + 1], a_sizes[at + 1], *op_a, *op_b);
  if (at == 1) set_batch(call.problem, a_sizes[0], a.strides()[0], b.strides()[0]);
  if (d.scalar_type() == ScalarType::Float) call.problem.output = GEMMSMITH_OUTPUT_32F;
  call.a = b.data_ptr();
  call.b = a.data_ptr();
  call.c = call.d = d.data_ptr();
  call.stream = current_stream(a);
  // torch's switch against reduced-precision reduction is not visible here; our kernels reduce in
  // f32 whatever it says, the vendor's may not.
  call.allows_vendor_plans = false;
  return call;
}

bool set_c(GemmCall& call, const Tensor& input, const Tensor& d) {
  const auto sizes = d.sizes();
  const auto input_sizes = input.sizes();
  if (input.dim() != d.dim() || input.scalar_type() != d.scalar_type() || !are_together(input, d) ||
      !std::equal(sizes.begin(), sizes.end(), input_sizes.begin()))
    return false;
  const auto op = operand_of(input);
  if (!op || op->op != CUBLAS_OP_N) return false;
  call.c = input.data_ptr();
  call.problem.ldc = op->ld;
  if (input.dim() == 3) call.problem.stride_c = input.strides()[0];
  return true;
}

bool set_bias(GemmCall& call, const Tensor& bias, const Tensor& d, std::int32_t activation) {
  const std::int64_t columns = d.sizes()[static_cast<std::size_t>(d.dim() - 1)];
  if (bias.dim() != 1 || bias.sizes()[0] != columns || (columns != 1 && bias.strides()[0] != 1) ||
      bias.scalar_type() != d.scalar_type() || !are_together(bias, d))
    return false;
  call.problem.epilogue = activation | GEMMSMITH_EPILOGUE_BIAS;
  call.problem.bias = bias.data_ptr();
  return true;
}

std::optional<GemmCall> call_of(const AskedProduct& asked) {
  const auto a = operand_of(asked.m, asked.k, asked.a_strides[1], asked.a_strides[2]);
  const auto b = operand_of(asked.k, asked.n, asked.b_strides[1], asked.b_strides[2]);
  if (!a || !b) return std::nullopt;
  GemmCall call;
  call.problem = problem_of(asked.is_bfloat16 != 0 ? ScalarType::BFloat16 : ScalarType::Half,
                            asked.m, asked.n, asked.k, *a, *b);
  set_batch(call.problem, asked.batch, asked.a_strides[0], asked.b_strides[0]);
  if (asked.f32_output != 0) call.problem.output = GEMMSMITH_OUTPUT_32F;
  call.problem.epilogue = static_cast<std::int32_t>(asked.epilogue);
  alignas(256) static const char anywhere[256] = {};  // a plan is asked for, nothing reads it
  if ((call.problem.epilogue & GEMMSMITH_EPILOGUE_BIAS) != 0) call.problem.bias = anywhere;
  call.allows_vendor_plans = false;
  return call;
}

}  // namespace gemmsmith::python
