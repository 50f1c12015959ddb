// harness.cu -- the utility kernels of measuring and verifying: fill operands, compare results,
// check guard bands, compute FP64 references, disturb the caches. They are the harness's, never a
// candidate's, so they are plain and robust rather than fast: grid-stride loops over 64-bit sizes,
// any grid, 256 threads a block (reference_sampled and error_norms count on exactly 256).
//
// Words used below. A matrix is (data, shape): element (r, c) at r * ld + c, with ld >= cols; those
// of a batch are `stride` elements apart (harness_args.cuh). Everything outside of their elements
// is padding. type: 0 f16, 1 bf16, 2 f32. Elements are counted matrix by matrix, row by row; a
// random value depends on (seed, stream, that count) alone: not on ld, grid or device.

#include "parts/harness_args.cuh"
#include "parts/types.cuh"

namespace {

using namespace gemmsmith_kernels;

constexpr int kThreads = 256;
constexpr int kWarpSize = 32;

using Bits16 = u16;
using Word = u64;

__device__ long long thread_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ long long thread_count() { return static_cast<long long>(gridDim.x) * blockDim.x; }

// Where the index-th element lies.
__device__ long long offset_of(const Matrices& shape, long long index) {
  long long row = index / shape.cols;
  const long long col = index - row * shape.cols;
  if (shape.batch == 1) return row * shape.ld + col;
  const long long matrix = row / shape.rows;
  row -= matrix * shape.rows;
  return matrix * shape.stride + row * shape.ld + col;
}

__device__ long long offset_of(const Matrices& shape, const Position& at) {
  return at.matrix * shape.stride + at.row * shape.ld + at.col;
}

__device__ long long count_of(const Matrices& shape) {
  return shape.batch * shape.rows * shape.cols;
}

// Overflow gives infinity, as a GEMM's epilogue does.
__device__ Bits16 to_bits16(float value, int type) {
  return type == kElementF16 ? float_to_element<kElementF16>(value)
                             : float_to_element<kElementBf16>(value);
}

__device__ float from_bits16(Bits16 bits, int type) {
  return type == kElementF16 ? element_to_float<kElementF16>(bits)
                             : element_to_float<kElementBf16>(bits);
}

__device__ float load(const void* data, long long offset, int type) {
  if (type == kElementF32) return static_cast<const float*>(data)[offset];
  return from_bits16(static_cast<const Bits16*>(data)[offset], type);
}

__device__ void store(void* data, long long offset, int type, float value) {
  if (type == kElementF32) {
    static_cast<float*>(data)[offset] = value;
  } else {
    static_cast<Bits16*>(data)[offset] = to_bits16(value, type);
  }
}

// The finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection that passes BigCrush when fed
// a counter.
__device__ Word mix(Word x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__device__ Word random_bits(Word seed, Word stream, long long index) {
  const Word key = mix(seed + 0x9e3779b97f4a7c15ull * (stream + 1));
  return mix(key + 0x9e3779b97f4a7c15ull * (static_cast<Word>(index) + 1));
}

// N(0,1) by Box-Muller from two 32-bit halves; |value| <= 6.8.
__device__ float random_normal(Word bits) {
  const float u = (static_cast<float>(static_cast<unsigned>(bits >> 32) >> 8) + 1.0f) * 0x1p-24f;
  const float v = static_cast<float>(static_cast<unsigned>(bits) >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ bool is_nan(unsigned bits, int type) {
  if (type == kElementF32) return (bits & 0x7fffffffu) > 0x7f800000u;
  return (bits & 0x7fffu) > (type == kElementF16 ? 0x7c00u : 0x7f80u);
}

__device__ unsigned load_bits(const void* data, long long offset, int type) {
  if (type == kElementF32) return static_cast<const unsigned*>(data)[offset];
  return static_cast<const Bits16*>(data)[offset];
}

// What a check of exact results accepts: the same bits, two zeros of either sign (the order of a
// sum decides the sign of its zero), or two NaNs (payloads are not part of the arithmetic).
__device__ bool same_value(unsigned x, unsigned y, int type) {
  if (x == y) return true;
  if (((x | y) & (type == kElementF32 ? 0x7fffffffu : 0x7fffu)) == 0) return true;
  return is_nan(x, type) && is_nan(y, type);
}

// Adds count and the lowest index to report = {count, first}; one atomic pair a thread that found
// any.
__device__ void add_to_report(Word* report, Word count, Word first) {
  if (count == 0) return;
  atomicAdd(&report[0], count);
  atomicMin(&report[1], first);
}

__device__ double warp_sum(double value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

// The block's sum, in thread 0, always added in the same order.
__device__ double block_sum(double value) {
  __shared__ double partial[kThreads / kWarpSize];
  value = warp_sum(value);
  __syncthreads();  // the previous call's partials have been read
  if (threadIdx.x % kWarpSize == 0) partial[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  double total = 0.0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kThreads / kWarpSize; ++i) total += partial[i];
  }
  return total;
}

}  // namespace

// N(0,1) values, rounded to the type. Padding is left as it is.
extern "C" __global__ void fill_normal(void* data, Matrices shape, int type, Word seed,
                                       Word stream) {
  for (long long i = thread_index(); i < count_of(shape); i += thread_count()) {
    store(data, offset_of(shape, i), type, random_normal(random_bits(seed, stream, i)));
  }
}

// Integers drawn evenly from low..high. With |values| <= v and k * v * v <= 2048 every f16 result
// is exact; with k * v * v <= 2^24 every f32 sum is.
extern "C" __global__ void fill_integers(void* data, Matrices shape, int type, int low, int high,
                                         Word seed, Word stream) {
  const Word range = static_cast<Word>(high - low + 1);
  for (long long i = thread_index(); i < count_of(shape); i += thread_count()) {
    const int value = low + static_cast<int>((random_bits(seed, stream, i) >> 32) % range);
    store(data, offset_of(shape, i), type, static_cast<float>(value));
  }
}

// One 16-bit pattern in `words` consecutive words: poison, NaN or a canary. 0x7fff is a NaN as f16
// and as bf16, and twice so as f32.
extern "C" __global__ void fill_pattern(Bits16* data, long long words, Bits16 pattern) {
  for (long long i = thread_index(); i < words; i += thread_count()) data[i] = pattern;
}

// Counts elements that differ between two matrices, or batches, of one shape. report =
// {count, the count of elements before the first}, which the caller sets to {0, ~0} before.
// bitwise != 0 demands the same bits (determinism); else same_value above decides.
extern "C" __global__ void compare_exact(const void* actual, const void* expected, Matrices shape,
                                         int type, int bitwise, Word* report) {
  Word count = 0;
  Word first = ~0ull;
  for (long long i = thread_index(); i < count_of(shape); i += thread_count()) {
    const long long offset = offset_of(shape, i);
    const unsigned x = load_bits(actual, offset, type);
    const unsigned y = load_bits(expected, offset, type);
    if (bitwise != 0 ? x == y : same_value(x, y, type)) continue;
    if (count++ == 0) first = static_cast<Word>(i);
  }
  add_to_report(report, count, first);
}

// Whether an element lies at `offset` from the first one. The matrices of a batch follow each other
// or lie side by side (MatrixShape of src/problem); so do rows within matrices, or matrices within
// rows.
__device__ bool is_element(const Matrices& shape, long long offset) {
  long long outer_count = shape.batch;
  long long outer_stride = shape.stride;
  long long inner_count = shape.rows;
  long long inner_stride = shape.ld;
  if (shape.batch == 1) {
    outer_stride = offset + 1;
  } else if (shape.stride < (shape.rows - 1) * shape.ld + shape.cols) {
    outer_count = shape.rows;
    outer_stride = shape.ld;
    inner_count = shape.batch;
    inner_stride = shape.stride;
  }
  const long long outer = offset / outer_stride;
  const long long rest = offset - outer * outer_stride;
  const long long inner = rest / inner_stride;
  return outer < outer_count && inner < inner_count && rest - inner * inner_stride < shape.cols;
}

// Counts words of buffer[0 .. words) that lie outside the matrices starting at word `offset` and no
// longer hold the pattern: padding between rows and matrices, and the bands before and after. An
// element has 2^word_shift words.
// report = {count, index into buffer of the first}, set to {0, ~0} before.
extern "C" __global__ void check_guard(const Bits16* buffer, long long words, long long offset,
                                       Matrices shape, int word_shift, Bits16 pattern,
                                       Word* report) {
  Word count = 0;
  Word first = ~0ull;
  for (long long i = thread_index(); i < words; i += thread_count()) {
    if (buffer[i] == pattern) continue;
    const long long within = i - offset;
    if (within >= 0 && is_element(shape, within >> word_shift)) continue;
    if (count++ == 0) first = static_cast<Word>(i);
  }
  add_to_report(report, count, first);
}

// Two buffers that must have stayed equal, word for word (a kernel's inputs against a copy of
// them). report = {count, first index}, set to {0, ~0} before.
extern "C" __global__ void compare_words(const Bits16* actual, const Bits16* expected,
                                         long long words, Word* report) {
  Word count = 0;
  Word first = ~0ull;
  for (long long i = thread_index(); i < words; i += thread_count()) {
    if (actual[i] == expected[i]) continue;
    if (count++ == 0) first = static_cast<Word>(i);
  }
  add_to_report(report, count, first);
}

// FP64 dot products at sampled positions (i, j): sums[s] = sum over l of A(i, l) * B(l, j),
// magnitudes[s] = the same sum of |A| * |B| (for the error bound). A block a sample, any grid; the
// order of addition is fixed.
extern "C" __global__ void __launch_bounds__(kThreads)
    reference_sampled(const void* a, OperandStrides strides_a, const void* b,
                      OperandStrides strides_b, int type, long long k, const Position* positions,
                      int samples, double* sums, double* magnitudes) {
  const long long a_col_stride = strides_a.col;
  const long long b_row_stride = strides_b.row;
  for (int s = static_cast<int>(blockIdx.x); s < samples; s += static_cast<int>(gridDim.x)) {
    const Position at = positions[s];
    const long long a_start = at.matrix * strides_a.matrix + at.row * strides_a.row;
    const long long b_start = at.matrix * strides_b.matrix + at.col * strides_b.col;
    double sum = 0.0;
    double magnitude = 0.0;
#pragma unroll 1
    for (long long l = threadIdx.x; l < k; l += kThreads) {
      const double product = static_cast<double>(load(a, a_start + l * a_col_stride, type)) *
                             static_cast<double>(load(b, b_start + l * b_row_stride, type));
      sum += product;
      magnitude += fabs(product);
    }
    sum = block_sum(sum);
    magnitude = block_sum(magnitude);
    if (threadIdx.x == 0) {
      sums[s] = sum;
      magnitudes[s] = magnitude;
    }
  }
}

// values[s] = the element at positions[s], as f64.
extern "C" __global__ void gather_sampled(const void* data, Matrices shape, int type,
                                          const Position* positions, int samples, double* values) {
  for (long long s = thread_index(); s < samples; s += thread_count()) {
    values[s] = static_cast<double>(load(data, offset_of(shape, positions[s]), type));
  }
}

// norms[0] += sum of (actual - expected)^2, norms[1] += sum of expected^2, in f64; set to {0, 0}
// before. The relative error is sqrt(norms[0] / norms[1]). A NaN anywhere makes it NaN.
extern "C" __global__ void __launch_bounds__(kThreads)
    error_norms(const void* actual, const void* expected, Matrices shape, int type, double* norms) {
  double difference = 0.0;
  double reference = 0.0;
  for (long long i = thread_index(); i < count_of(shape); i += thread_count()) {
    const long long offset = offset_of(shape, i);
    const double y = static_cast<double>(load(expected, offset, type));
    const double d = static_cast<double>(load(actual, offset, type)) - y;
    difference += d * d;
    reference += y * y;
  }
  difference = block_sum(difference);
  reference = block_sum(reference);
  if (threadIdx.x == 0) {
    atomicAdd(&norms[0], difference);
    atomicAdd(&norms[1], reference);
  }
}

// What stands between two GEMMs of a model: an elementwise pass, launched without programmatic
// dependent launch and without its instructions, so that neighbours cannot overlap with it.
extern "C" __global__ void foreign_pass(float* data, long long count) {
  for (long long i = thread_index(); i < count; i += thread_count()) {
    data[i] = data[i] * 0.5f + 1.0f;
  }
}

// Fills L2 with a buffer of the harness's (write_back != 0: dirty lines, else clean ones). Sized
// twice the L2 it evicts everything else.
extern "C" __global__ void flush_l2(uint4* data, long long count, int write_back, unsigned* sink) {
  unsigned sum = 0;
  for (long long i = thread_index(); i < count; i += thread_count()) {
    if (write_back != 0) {
      data[i] = make_uint4(static_cast<unsigned>(i), 0u, 0u, 0u);
    } else {
      const uint4 value = data[i];
      sum += value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  // The read must not be optimised away; the sink is written so rarely that it costs nothing.
  if (sum == 0x5bd1e995u) *sink = sum;
}

// Nothing: its period inside a graph is the floor of every launch.
extern "C" __global__ void empty_kernel() {}
