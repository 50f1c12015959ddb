// blas_types.h -- what every vendor call is given besides the problem: pointers, scalars,
// workspace; and a Problem said in cuBLAS's words.
//
// Our matrices are row-major, cuBLAS's column-major. A row-major m x n matrix with leading
// dimension ldd is the column-major n x m matrix with the same ld, so D = A B is computed as D' =
// B' A': the library's A is our B, its B our A, its m our n and its n our m. No data moves.
#pragma once

#include <cublas_api.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "problem/problem.h"

namespace gemmsmith::vendor {

// Our operands: row-major D, as in Problem. `c` is read only where beta is not 0.
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};

// Device memory, 256-byte aligned.
struct Workspace {
  void* data = nullptr;
  std::int64_t bytes = 0;
};

enum class ScalarMode { kHost, kDevice };

// alpha and beta of one call: two floats on the host, or two device pointers in the scale type
// (f32, or f16 where the accumulator is f16).
struct Scalars {
  ScalarMode mode = ScalarMode::kHost;
  float alpha = 1;
  float beta = 0;
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;

  static Scalars host(float alpha, float beta) {
    return {ScalarMode::kHost, alpha, beta, nullptr, nullptr};
  }
  static Scalars device(const void* alpha, const void* beta) {
    return {ScalarMode::kDevice, 1, 0, alpha, beta};
  }
  static Scalars of(const Problem& problem) { return host(problem.alpha, problem.beta); }
};

// What products ask beyond a Problem.
struct Extras {
  const void* bias = nullptr;  // device memory, one value for each of our columns; set with
                               // Problem::has_bias and only then
  // The library may choose only algorithms that add up partial sums in the accumulator's type and
  // in a fixed order: never in D's type, never by atomics in place.
  bool exact_reductions = false;

  bool operator==(const Extras&) const = default;
};

// Host scalars in the library's scale type; data() is what its calls take.
class HostScalars {
 public:
  HostScalars(const Scalars& scalars, DataType accumulator);
  const void* alpha() const { return half_ ? static_cast<const void*>(&half_alpha_) : &alpha_; }
  const void* beta() const { return half_ ? static_cast<const void*>(&half_beta_) : &beta_; }

 private:
  bool half_ = false;
  float alpha_ = 1;
  float beta_ = 0;
  __half half_alpha_;
  __half half_beta_;
};

// A problem as cuBLAS sees it: column-major, operands exchanged.
struct ColumnMajor {
  std::int64_t m = 0, n = 0, k = 0;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  std::int64_t rows_a = 0, columns_a = 0, lda = 0;  // as stored, before op
  std::int64_t rows_b = 0, columns_b = 0, ldb = 0;
  std::int64_t ldc = 0, ldd = 0;
  int align_a = 256, align_b = 256, align_c = 256, align_d = 256;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;  // elements; of a batch
};
ColumnMajor column_major(const Problem& problem);

cudaDataType_t cuda_type(DataType type);
cublasComputeType_t compute_type(DataType accumulator);  // COMPUTE_32F, COMPUTE_16F
cudaDataType_t scale_type(DataType accumulator);         // R_32F, R_16F

}  // namespace gemmsmith::vendor
