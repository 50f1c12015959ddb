#include "runtime/translate.h"

#include <cmath>
#include <limits>

namespace gemmsmith::runtime {
namespace {

// Our A is op(B) transposed: with B not transposed its k index is the contiguous one. Likewise our
// B is op(A) transposed, whose k index is contiguous where A is transposed.
Layout layout_of(bool transa, bool transb) {
  if (transa) return transb ? Layout::kNN : Layout::kTN;
  return transb ? Layout::kNT : Layout::kTT;
}

Activation activation_of(std::int32_t epilogue) {
  switch (epilogue & ~GEMMSMITH_EPILOGUE_BIAS) {
    case GEMMSMITH_EPILOGUE_RELU:
      return Activation::kRelu;
    case GEMMSMITH_EPILOGUE_GELU_TANH:
      return Activation::kGeluTanh;
    case GEMMSMITH_EPILOGUE_GELU_ERF:
      return Activation::kGeluErf;
    case GEMMSMITH_EPILOGUE_SILU:
      return Activation::kSilu;
    default:
      return Activation::kNone;
  }
}

}  // namespace

Problem to_row_major(const gemmsmithProblem_t& problem) {
  Problem result;
  result.m = problem.n;
  result.n = problem.m;
  result.k = problem.k;
  result.batch = problem.batch == 0 ? 1 : problem.batch;
  result.type = problem.type == GEMMSMITH_R_16BF ? DataType::kBf16 : DataType::kF16;
  result.accumulator =
      problem.compute_type == GEMMSMITH_COMPUTE_16F ? DataType::kF16 : DataType::kF32;
  result.f32_output = problem.output == GEMMSMITH_OUTPUT_32F;
  result.layout = layout_of(problem.transa != GEMMSMITH_OP_N, problem.transb != GEMMSMITH_OP_N);
  result.lda = problem.ldb;
  result.ldb = problem.lda;
  result.ldc = problem.ldc;
  result.ldd = problem.ldd;
  if (result.is_batched()) {
    result.stride_a = problem.stride_b;
    result.stride_b = problem.stride_a;
    result.stride_c = problem.stride_c;
    result.stride_d = problem.stride_d;
  }
  result.has_bias = (problem.epilogue & GEMMSMITH_EPILOGUE_BIAS) != 0;
  result.activation = activation_of(problem.epilogue);
  straighten_vectors(result);
  return result;
}

vendor::Extras extras_of(const gemmsmithProblem_t& problem) {
  vendor::Extras extras;
  if ((problem.epilogue & GEMMSMITH_EPILOGUE_BIAS) != 0) extras.bias = problem.bias;
  return extras;
}

int alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  int alignment = 1;
  while (alignment < 256 && address % (2U * static_cast<unsigned>(alignment)) == 0) alignment *= 2;
  return alignment;
}

float half_to_float(std::uint16_t half) {
  const bool negative = (half & 0x8000U) != 0;
  const int exponent = (half >> 10) & 0x1F;
  const auto fraction = static_cast<float>(half & 0x3FFU);
  float magnitude = 0;
  if (exponent == 0)  // zero and subnormals
    magnitude = std::ldexp(fraction, -24);
  else if (exponent < 31)
    magnitude = std::ldexp(1024.0F + fraction, exponent - 25);
  else
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  return negative ? -magnitude : magnitude;
}

}  // namespace gemmsmith::runtime
