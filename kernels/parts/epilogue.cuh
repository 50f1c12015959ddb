// epilogue.cuh -- D = act(alpha * A * B + beta * C + bias) for fragments of wgmma: what fused
// kernels do where plain ones scale (wgmma_fragment.cuh). On finished sums, in f32, rounded once.
//
//   f32 accumulators   in place, in three steps over some groups, each jumped over where it does
//                      nothing: alpha and C; bias; activation
//   f16 accumulators   group by group, since writing back rounds
#pragma once

#include "parts/activation.cuh"
#include "parts/args.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// Stands where plain kernels have a Scale. The rest of it stays in the arguments.
struct Epilogue : Scale {
  __device__ __forceinline__ bool identity() const { return false; }
};

template <bool kFused>
__device__ __forceinline__ auto load_epilogue(const GemmArgs& args) {
  if constexpr (kFused) {
    return Epilogue{load_scale(args)};
  } else {
    return load_scale(args);
  }
}

// bias[column], bias[column + 1]; zero beyond n.
template <int kElement>
__device__ __forceinline__ void load_bias(const GemmArgs& args, int column, float& low,
                                          float& high) {
  const Storage<kElement>* const bias = static_cast<const Storage<kElement>*>(args.bias) + column;
  low = load_c<kElement>(bias, column < args.n);
  high = load_c<kElement>(bias + 1, column + 1 < args.n);
}

// One group's values, as finish_group() of a Scale.
template <int kElement>
__device__ __forceinline__ void finish_group(const GemmArgs& args, const Epilogue& epilogue,
                                             int row, int column, float (&values)[4]) {
  finish_group<kElement>(args, static_cast<const Scale&>(epilogue), row, column, values);
  if (args.bias != nullptr) {
    float low, high;
    load_bias<kElement>(args, column, low, high);
    values[0] += low;
    values[1] += high;
    values[2] += low;
    values[3] += high;
  }
  with_activation(args.activation, [&](auto function) {
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = function(values[i]);
  });
}

template <int kElement, int kGroups, int kBlockGroups, int kCount>
__device__ __forceinline__ void finish_groups(const GemmArgs& args, const Epilogue& epilogue,
                                              int row, int column, int first,
                                              float (&block)[kCount]) {
  finish_groups<kElement, kGroups, kBlockGroups>(args, static_cast<const Scale&>(epilogue), row,
                                                 column, first, block);
  if (args.bias != nullptr) {
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int group = first + i;
      if (group >= kBlockGroups) continue;
      float low, high;
      load_bias<kElement>(args, column + 8 * group, low, high);
      block[4 * group] += low;
      block[4 * group + 1] += high;
      block[4 * group + 2] += low;
      block[4 * group + 3] += high;
    }
  }
  with_activation(args.activation, [&](auto function) {
#pragma unroll
    for (int i = 0; i < 4 * kGroups; ++i) {
      const int value = 4 * first + i;
      if (value < 4 * kBlockGroups) block[value] = function(block[value]);
    }
  });
}

template <int kElement, int kGroups, int kBlockGroups, int kCount>
__device__ __forceinline__ void finish_groups(const GemmArgs& args, const Epilogue& epilogue,
                                              int row, int column, int first,
                                              u32 (&block)[kCount]) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const int group = first + i;
    if (group >= kBlockGroups) continue;
    float values[4];
    fragment_group(block, group, values);
    finish_group<kElement>(args, epilogue, row, column + 8 * group, values);
    put_fragment_group(block, group, values);
  }
}

}  // namespace gemmsmith_kernels
