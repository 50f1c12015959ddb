// calls.h -- products of tensors as calls of the library, which is column-major: its A is our b,
// its B our a.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "blas/gemm_call.h"
#include "torch_side.h"

namespace gemmsmith::python {

// Two matrices, or two batches of as many, that can be multiplied and whose product torch would
// compute on this device, in a type that plans have.
bool is_covered(const Tensor& a, const Tensor& b);

// Of the product of two that are covered.
std::array<std::int64_t, 3> batch_sizes(const Tensor& a, const Tensor& b);
std::array<std::int64_t, 2> matrix_sizes(const Tensor& a, const Tensor& b);

// d = a b, where d is contiguous and of their type or f32. Empty where a layout does not fit.
std::optional<blas::GemmCall> call_of(const Tensor& a, const Tensor& b, const Tensor& d);

// Makes `input` the C of a call_of(a, b, d). False where its shape, type or layout does not fit.
bool set_c(blas::GemmCall& call, const Tensor& input, const Tensor& d);

// The same of a vector as the bias of d's columns, with an activation (gemmsmithEpilogue_t).
bool set_bias(blas::GemmCall& call, const Tensor& bias, const Tensor& d,
              std::int32_t activation = GEMMSMITH_EPILOGUE_NONE);

// What gemmsmith_torch_forecast() is asked about; mirrored in _library.py. Sizes and strides in
// elements, a batch of 1 for matrices.
struct AskedProduct {
  std::int64_t is_bfloat16, f32_output, batch, m, n, k;
  std::int64_t a_strides[3], b_strides[3];  // batch, rows, columns
  std::int64_t epilogue;                    // gemmsmithEpilogue_t
};
std::optional<blas::GemmCall> call_of(const AskedProduct& asked);

}  // namespace gemmsmith::python
