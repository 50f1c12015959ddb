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
template <bool kTransposed>
struct Epilogue : Scale<kTransposed> {
  __device__ __forceinline__ bool identity() const { return false; }
};

template <bool kFused, bool kTransposed>
__device__ __forceinline__ auto load_epilogue(const GemmArgs& args) {
  if constexpr (kFused) {
    return Epilogue<kTransposed>{load_scale<kTransposed>(args)};
  } else {
    return load_scale<kTransposed>(args);
  }
}

// The bias of a group's four values, whose first is at `row`, `column`: one for each column of D,
// which are the sums' rows where they are transposed. Zero beyond D.
template <int kElement, bool kTransposed>
__device__ __forceinline__ void load_bias(const GemmArgs& args, int row, int column,
                                          float (&bias)[4]) {
  const int first = kTransposed ? row : column;
  const int second = kTransposed ? row + 8 : column + 1;
  const int count = kTransposed ? args.m : args.n;
  const Storage<kElement>* const values = static_cast<const Storage<kElement>*>(args.bias);
  const float low = load_c<kElement>(values + first, first < count);
  const float high = load_c<kElement>(values + second, second < count);
  bias[0] = low;
  bias[1] = kTransposed ? low : high;
  bias[2] = kTransposed ? high : low;
  bias[3] = high;
}

// One group's values, as finish_group() of a Scale.
template <int kElement, bool kTransposed>
__device__ __forceinline__ void finish_group(const GemmArgs& args,
                                             const Epilogue<kTransposed>& epilogue, int row,
                                             int column, float (&values)[4]) {
  finish_group<kElement>(args, static_cast<const Scale<kTransposed>&>(epilogue), row, column,
                         values);
  if (args.bias != nullptr) {
    float bias[4];
    load_bias<kElement, kTransposed>(args, row, column, bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] += bias[i];
  }
  with_activation(args.activation, [&](auto function) {
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = function(values[i]);
  });
}

template <int kElement, int kGroups, int kBlockGroups, bool kTransposed, int kCount>
__device__ __forceinline__ void finish_groups(const GemmArgs& args,
                                              const Epilogue<kTransposed>& epilogue, int row,
                                              int column, int first, float (&block)[kCount]) {
  finish_groups<kElement, kGroups, kBlockGroups>(
      args, static_cast<const Scale<kTransposed>&>(epilogue), row, column, first, block);
  if (args.bias != nullptr) {
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int group = first + i;
      if (group >= kBlockGroups) continue;
      float bias[4];
      load_bias<kElement, kTransposed>(args, row, column + 8 * group, bias);
#pragma unroll
      for (int j = 0; j < 4; ++j) block[4 * group + j] += bias[j];
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

template <int kElement, int kGroups, int kBlockGroups, bool kTransposed, int kCount>
__device__ __forceinline__ void finish_groups(const GemmArgs& args,
                                              const Epilogue<kTransposed>& epilogue, int row,
                                              int column, int first, u32 (&block)[kCount]) {
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
