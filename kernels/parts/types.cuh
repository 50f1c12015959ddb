// types.cuh -- the bits of the element types and how they turn into f32 and back.
//
// NVRTC compiles these kernels without any header, so the fixed-width names are our own and
// elements travel as raw 16-bit (or packed 32-bit) integers. All conversions to an element round to
// nearest, ties to even; NaN stays NaN and values beyond f16's range become infinity, as BLAS users
// expect.
#pragma once

namespace gemmsmith_kernels {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// Values of kElementType (of A and B), kOutputType (of C, D and the bias) and kAccumulatorType in
// config.cuh. kElementF32 is an output's alone.
constexpr int kElementF16 = 0;
constexpr int kElementBf16 = 1;
constexpr int kElementF32 = 2;
constexpr int kAccumulatorF32 = 0;
constexpr int kAccumulatorF16 = 1;

// What an element is kept as: its bits, or a float.
template <int kElement>
struct StorageOf {
  using Type = u16;
};
template <>
struct StorageOf<kElementF32> {
  using Type = float;
};
template <int kElement>
using Storage = typename StorageOf<kElement>::Type;

// One element's bits as f32 (exact).
template <int kElement>
__device__ __forceinline__ float element_to_float(u16 bits) {
  if constexpr (kElement == kElementBf16) {
    return __uint_as_float(static_cast<u32>(bits) << 16);
  } else {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
}

// f32 rounded to one element's bits.
template <int kElement>
__device__ __forceinline__ u16 float_to_element(float value) {
  u16 bits;
  if constexpr (kElement == kElementBf16) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  return bits;
}

// Two f32 rounded to a packed pair; `low` takes bits 0..15, which is the lower address.
template <int kElement>
__device__ __forceinline__ u32 pack_elements(float low, float high) {
  u32 pair;
  if constexpr (kElement == kElementBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

// The two halves of a packed pair as f32 (exact).
template <int kElement>
__device__ __forceinline__ float low_to_float(u32 pair) {
  return element_to_float<kElement>(static_cast<u16>(pair & 0xffffu));
}

template <int kElement>
__device__ __forceinline__ float high_to_float(u32 pair) {
  return element_to_float<kElement>(static_cast<u16>(pair >> 16));
}

// What is kept as f32 (exact), and f32 rounded to what is kept.
template <int kElement>
__device__ __forceinline__ float storage_to_float(Storage<kElement> stored) {
  if constexpr (kElement == kElementF32) {
    return stored;
  } else {
    return element_to_float<kElement>(stored);
  }
}

template <int kElement>
__device__ __forceinline__ Storage<kElement> float_to_storage(float value) {
  if constexpr (kElement == kElementF32) {
    return value;
  } else {
    return float_to_element<kElement>(value);
  }
}

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace gemmsmith_kernels
