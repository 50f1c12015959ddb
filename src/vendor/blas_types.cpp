#include "vendor/blas_types.h"

namespace gemmsmith::vendor {

HostScalars::HostScalars(const Scalars& scalars, DataType accumulator)
    : half_(accumulator == DataType::kF16),
      alpha_(scalars.alpha),
      beta_(scalars.beta),
      half_alpha_(__float2half(scalars.alpha)),
      half_beta_(__float2half(scalars.beta)) {}

ColumnMajor column_major(const Problem& problem) {
  ColumnMajor view;
  view.m = problem.n;
  view.n = problem.m;
  view.k = problem.k;
  // Our B, k x n: k contiguous it is the column-major k x n matrix, which the library must
  // transpose to get n x k; n contiguous it is that n x k matrix already.
  const bool b_by_k = b_is_k_contiguous(problem.layout);
  view.op_a = b_by_k ? CUBLAS_OP_T : CUBLAS_OP_N;
  view.rows_a = b_by_k ? problem.k : problem.n;
  view.columns_a = b_by_k ? problem.n : problem.k;
  view.lda = problem.ldb;
  const bool a_by_k = a_is_k_contiguous(problem.layout);
  view.op_b = a_by_k ? CUBLAS_OP_N : CUBLAS_OP_T;
  view.rows_b = a_by_k ? problem.k : problem.m;
  view.columns_b = a_by_k ? problem.m : problem.k;
  view.ldb = problem.lda;
  view.ldc = problem.ldc;
  view.ldd = problem.ldd;
  view.align_a = problem.alignment.b;
  view.align_b = problem.alignment.a;
  view.align_c = problem.alignment.c;
  view.align_d = problem.alignment.d;
  view.batch = problem.batch;
  if (!problem.is_batched()) return view;
  view.stride_a = problem.stride_b;
  view.stride_b = problem.stride_a;
  view.stride_c = problem.stride_c;
  view.stride_d = problem.stride_d;
  return view;
}

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::kF16:
      return CUDA_R_16F;
    case DataType::kBf16:
      return CUDA_R_16BF;
    case DataType::kF32:
      break;
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(DataType accumulator) {
  return accumulator == DataType::kF16 ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
}

// The only scale types the library has for these compute types.
cudaDataType_t scale_type(DataType accumulator) {
  return accumulator == DataType::kF16 ? CUDA_R_16F : CUDA_R_32F;
}

}  // namespace gemmsmith::vendor
