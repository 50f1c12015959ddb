// naive_gemm.cuh -- the plainest GEMM: one thread an element of D, one CTA of 256 threads a 16 x 16
// tile. The deliberately faulty kernels that test the harness are made from it, each with one step
// replaced. They are launched like an sm80_mma config of tile 16 x 16 and 8 warps.
#pragma once

#include "config.cuh"
#include "parts/args.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kNaiveTile = 16;
constexpr int kNaiveThreads = kNaiveTile * kNaiveTile;

struct Position {
  int row;
  int col;
  bool inside;  // of D
};

// Which matrix of the batch this CTA works on.
__device__ inline int naive_matrix(const GemmArgs& args) {
  return static_cast<int>(blockIdx.x) / (args.tiles_m * args.tiles_n);
}

__device__ inline Position naive_position(const GemmArgs& args) {
  const int tile = static_cast<int>(blockIdx.x) % (args.tiles_m * args.tiles_n);
  const int thread = static_cast<int>(threadIdx.x);
  const int row = tile / args.tiles_n * kNaiveTile + thread / kNaiveTile;
  const int col = tile % args.tiles_n * kNaiveTile + thread % kNaiveTile;
  return {row, col, row < args.m && col < args.n};
}

// A(row, l) * B(l, col), exact in f32 for 16-bit elements.
__device__ inline float naive_product(const GemmArgs& args, int row, int col, int l) {
  const u16 a = static_cast<const u16*>(args.a)[row * args.lda + l];
  const u16 b = static_cast<const u16*>(args.b)[col * args.ldb + l];
  return element_to_float<kElementType>(a) * element_to_float<kElementType>(b);
}

__device__ inline float naive_dot(const GemmArgs& args, int row, int col, int k) {
  float sum = 0.0f;
  for (int l = 0; l < k; ++l) sum += naive_product(args, row, col, l);
  return sum;
}

__device__ inline void naive_store(const GemmArgs& args, int row, int col, float sum) {
  const float alpha = args.alpha_device != nullptr ? *args.alpha_device : args.alpha;
  const float beta = args.beta_device != nullptr ? *args.beta_device : args.beta;
  float value = alpha * sum;
  if (beta != 0.0f) {
    const auto c = static_cast<const Storage<kOutputType>*>(args.c)[row * args.ldc + col];
    value += beta * storage_to_float<kOutputType>(c);
  }
  static_cast<Storage<kOutputType>*>(args.d)[row * args.ldd + col] =
      float_to_storage<kOutputType>(value);
}

}  // namespace gemmsmith_kernels
