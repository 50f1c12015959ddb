// activation.cuh -- what fused kernels do to a finished sum, in f32 and before it is rounded to D's
// type.
//
//   ReLU         max(x, 0); NaN stays NaN
//   tanh-GELU    x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), which is x / (1 + exp(-2u))
//   exact GELU   x/2 (1 + erf(x / sqrt(2)))
//   SiLU         x / (1 + exp(-x))
//
// The errors are some units of f32 in relation to the result, also where it is tiny (a GELU of -5
// is -1.4e-6): far below the rounding of 16 bits. Results below 2^-120 may become zero. Infinities
// follow the formulas: all but ReLU make NaN of -inf, as 0 times infinity does.
#pragma once

#include "parts/args.cuh"

namespace gemmsmith_kernels {

// ex2.approx and rcp.approx: within 2 and 1 units in the last place.
__device__ __forceinline__ float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float one_over(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

struct Relu {
  __device__ __forceinline__ float operator()(float x) const {
    float result;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(result) : "f"(x));
    return result;
  }
};

// x / (1 + 2^(x (linear + cubic x^2))): SiLU and tanh-GELU in one.
struct Gate {
  float linear;
  float cubic;

  __device__ __forceinline__ float operator()(float x) const {
    // Where x^2 overflows, SiLU's cubic of 0 must still be nothing.
    const float square = fminf(x * x, 1e30f);
    return x * one_over(1.0f + power_of_two(x * (linear + cubic * square)));
  }
};

// x Phi(x), with Phi(-|x|) = erfc(|x| / sqrt(2)) / 2 by the Chebyshev fit of Press et al.
// (Numerical Recipes, section 6.2), whose error is relative: 1.2e-7 everywhere. (1 + erf would
// cancel.)
struct GeluErf {
  __device__ __forceinline__ float operator()(float x) const {
    constexpr float kLog2E = 1.44269504f;
    const float t = one_over(1.0f + 0.353553391f * fabsf(x));
    float exponent = 0.17087277f * kLog2E;
    exponent = exponent * t - 0.82215223f * kLog2E;
    exponent = exponent * t + 1.48851587f * kLog2E;
    exponent = exponent * t - 1.13520398f * kLog2E;
    exponent = exponent * t + 0.27886807f * kLog2E;
    exponent = exponent * t - 0.18628806f * kLog2E;
    exponent = exponent * t + 0.09678418f * kLog2E;
    exponent = exponent * t + 0.37409196f * kLog2E;
    exponent = exponent * t + 1.00002368f * kLog2E;
    exponent = exponent * t + (-1.26551223f * kLog2E - 1.0f);  // the 1 halves
    const float tail = t * power_of_two(exponent - 0.5f * kLog2E * x * x);
    return x * (x >= 0.0f ? 1.0f - tail : tail);
  }
};

// Calls use(function) with the activation as a function of one float, unless it is none. All
// threads take one way; loops belong inside of `use`, so that the choice is made once.
template <class Use>
__device__ __forceinline__ void with_activation(int activation, Use use) {
  if (activation == kNoActivation) return;
  if (activation == kRelu) {
    use(Relu{});
  } else if (activation == kGeluErf) {
    use(GeluErf{});
  } else {
    // -log2(e); or -2 sqrt(2/pi) log2(e), and 0.044715 of that.
    const bool is_silu = activation == kSilu;
    use(Gate{is_silu ? -1.44269504f : -2.30220820f, is_silu ? 0.0f : -0.10294324f});
  }
}

}  // namespace gemmsmith_kernels
