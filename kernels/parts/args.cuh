// args.cuh -- what every GEMM kernel is given at launch. Included by the kernels (NVRTC, no headers
// available) and by src/plan (host), so it uses built-in types only and both see one layout.
//
// The problem is D[m][n] = alpha * sum_k A[m][k] * B[k][n] + beta * C[m][n], C and D row-major
// (element (i, j) at i * ld + j) and of one type, A and B's or f32; fused kernels add bias[n] and
// apply an activation. Offsets are formed in 64 bits.
#pragma once

namespace gemmsmith_kernels {

// A CUtensorMap: 128 opaque bytes on a 64-byte boundary, passed by value as a __grid_constant__.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// How the tiles of D are walked. kAlongM: consecutive tiles differ in their row (m) index.
enum Raster : int { kRasterAlongM = 0, kRasterAlongN = 1 };

// What becomes of a finished sum, bias included: see activation.cuh.
enum Activation : int { kNoActivation = 0, kRelu = 1, kGeluTanh = 2, kGeluErf = 3, kSilu = 4 };

// A divisor's place in GemmArgs: see divide() in tile_order.cuh.
constexpr unsigned reciprocal(unsigned divisor) {
  return 0xffffffffu / (divisor == 0 ? 1 : divisor);
}

// Grows at its end only: kernels that were compiled before read what they knew of it.
struct GemmArgs {
  const void* a;
  const void* b;
  const void* c;  // never dereferenced when beta is 0
  void* d;        // may equal c
  // Device-resident scalars (cuBLAS's device pointer mode); null: use the values below.
  const float* alpha_device;
  const float* beta_device;
  long long lda;  // leading dimensions, in elements
  long long ldb;
  long long ldc;
  long long ldd;
  float alpha;
  float beta;
  int m;
  int n;
  int k;
  int tiles_m;  // ceil(m / tile_m), not rounded to the cluster
  int tiles_n;
  int group;    // tiles of the raster's minor dimension walked before the major one advances; >= 1
  int raster;   // a Raster
  int split_k;  // CTAs (or warps' slices) that share one tile's k range; >= 1
  // reciprocal() of what every CTA divides by before its first load. Counts are of clusters.
  unsigned band_reciprocal;        // group * tiles of the major dimension
  unsigned width_reciprocal;       // group
  unsigned last_width_reciprocal;  // tiles of the minor dimension in its last band
  unsigned split_reciprocal;       // split_k
  // Of kernels that add up through memory (split_workspace.cuh); null for the others.
  void* workspace;     // partial sums; any content before and after
  unsigned* counters;  // zero before their first use; afterwards as a kernel left them
  // Of kernels for batches: elements from one matrix to the next (0: the batch shares one), and
  // reciprocal() of a matrix's tiles, or clusters of them.
  long long stride_a;
  long long stride_b;
  long long stride_c;
  long long stride_d;
  int batch;  // matrices, or groups
  unsigned matrix_reciprocal;
  // Of grouped kernels: where each group's rows of A, C and D end; m is the rows of all.
  const int* group_ends;
  int prefetch_k_tiles;  // of the first tile, asked of L2 before the predecessor has finished
  // Of fused kernels: an Activation, and one element of D's type for each of its columns or null.
  // No padding: exported libraries hold this as bytes.
  int activation;
  const void* bias;
};

}  // namespace gemmsmith_kernels
