// reference.cu -- a naive GEMM of any layout, the expected result of full checks on small and
// middle shapes. Obviously right comes before fast: a 16 x 16 tile of D a CTA of 256 threads,
// operands staged through shared memory, k walked in order, grid-stride over the tiles of all
// matrices of a batch (any grid).

#include "parts/harness_args.cuh"
#include "parts/types.cuh"

namespace {

using namespace gemmsmith_kernels;

constexpr int kTile = 16;
constexpr int kThreads = kTile * kTile;

__device__ float load(const void* data, i64 offset, int type) {
  if (type == kElementF32) return static_cast<const float*>(data)[offset];
  const u16 bits = static_cast<const u16*>(data)[offset];
  return type == kElementF16 ? element_to_float<kElementF16>(bits)
                             : element_to_float<kElementBf16>(bits);
}

struct Operand {
  const void* data;
  i64 row_stride;
  i64 col_stride;
  int rows;
  int cols;
};

// Zero outside the operand: bytes beyond its rows and columns are never read.
__device__ float load_or_zero(const Operand& x, i64 row, i64 col, int type) {
  if (row >= x.rows || col >= x.cols) return 0.0f;
  return load(x.data, row * x.row_stride + col * x.col_stride, type);
}

// The element of D that belongs to this thread, summed in Sum (float or double).
template <typename Sum>
__device__ Sum dot(const Operand& a, const Operand& b, i64 first_row, i64 first_col, int type) {
  __shared__ float tile_a[kTile][kTile];      // [row][l]
  __shared__ float tile_b[kTile][kTile + 1];  // [l][col]
  const int y = static_cast<int>(threadIdx.x) / kTile;
  const int x = static_cast<int>(threadIdx.x) % kTile;
  Sum sum = 0;
  for (int start = 0; start < a.cols; start += kTile) {
    tile_a[y][x] = load_or_zero(a, first_row + y, start + x, type);
    tile_b[x][y] = load_or_zero(b, start + x, first_col + y, type);
    __syncthreads();
    for (int l = 0; l < kTile; ++l) {
      sum += static_cast<Sum>(tile_a[y][l]) * static_cast<Sum>(tile_b[l][x]);
    }
    __syncthreads();
  }
  return sum;
}

}  // namespace

// D = alpha * A * B + beta * C. C and D are row-major. type, of A and B: 0 f16, 1 bf16; output, of
// C and D: that or 2 f32. double_sum != 0 sums and scales in f64 (then rounds to f32, then to the
// element). C is not read when beta is 0.
extern "C" __global__ void __launch_bounds__(kThreads)
    reference_gemm(const void* a, OperandStrides strides_a, const void* b, OperandStrides strides_b,
                   const void* c, i64 ldc, i64 stride_c, void* d, i64 ldd, i64 stride_d, int m,
                   int n, int k, int batch, float alpha, float beta, int type, int output,
                   int double_sum) {
  const i64 tiles_n = ceil_div(n, kTile);
  const i64 tiles = ceil_div(m, kTile) * tiles_n;
  for (i64 index = blockIdx.x; index < tiles * batch; index += gridDim.x) {
    const i64 matrix = index / tiles;
    const i64 tile = index - matrix * tiles;
    const Operand operand_a = {static_cast<const u16*>(a) + matrix * strides_a.matrix,
                               strides_a.row, strides_a.col, m, k};
    const Operand operand_b = {static_cast<const u16*>(b) + matrix * strides_b.matrix,
                               strides_b.row, strides_b.col, k, n};
    const i64 first_row = tile / tiles_n * kTile;
    const i64 first_col = tile % tiles_n * kTile;
    const i64 row = first_row + threadIdx.x / kTile;
    const i64 col = first_col + threadIdx.x % kTile;
    const bool inside = row < m && col < n;
    const float old =
        inside && beta != 0.0f ? load(c, matrix * stride_c + row * ldc + col, output) : 0.0f;
    float value;
    if (double_sum != 0) {
      const double sum = dot<double>(operand_a, operand_b, first_row, first_col, type);
      const double added = beta != 0.0f ? static_cast<double>(beta) * old : 0.0;
      value = static_cast<float>(alpha * sum + added);
    } else {
      const float sum = dot<float>(operand_a, operand_b, first_row, first_col, type);
      value = alpha * sum;
      if (beta != 0.0f) value += beta * old;
    }
    if (!inside) continue;
    const i64 place = matrix * stride_d + row * ldd + col;
    if (output == kElementF32) {
      static_cast<float*>(d)[place] = value;
    } else {
      static_cast<u16*>(d)[place] = output == kElementF16 ? float_to_element<kElementF16>(value)
                                                          : float_to_element<kElementBf16>(value);
    }
  }
}
