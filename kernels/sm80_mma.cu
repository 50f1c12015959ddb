// sm80_mma.cu -- the family built on Ampere's instructions: cp.async fills a ring of shared-memory
// stages, ldmatrix feeds register fragments, mma.sync multiplies, and the tile of D leaves through
// shared memory in 16-byte stores. It is the family for sm_80; on Hopper it competes where a short
// prologue counts for more than the wider tensor-core instruction: short K, small tiles.
//
//   global A, B --cp.async, all warps--> stage ring --ldmatrix, each warp--> fragments (two sets)
//                                        ^    |                                  | mma.sync
//        refilled once all warps have     |    |                                  v
//        read its last fragments  --------+    +-- one barrier a k tile      accumulators
//                                                                                | alpha, beta * C
//   global D <--16-byte stores, all warps-- staged tile (over the ring's memory) <--+
//
// All `stages` slots are filled at once in the prologue, so K <= stages * tile_k needs no refill at
// all. The barrier that opens k tile t + 1 also closes tile t: its slot is refilled right there.
//
// warps_k > 1 splits the k range of every k tile among groups of warps (for tiles too small to give
// each warp its own piece); their f32 partial tiles are added in a fixed order, so results do not
// vary.
//
// Compile-time parameters and what they must satisfy:
//   tile_k    16, 32, 64, 128 or 256            stages  >= 2
//   tile_m    a multiple of 16 * warps_m        tile_n  a multiple of 8 * warps_n and of 16
//   warps_k   a power of two, <= tile_k / 16    threads = 32 * warps_m * warps_n * warps_k <= 1024
// Dynamic shared memory in bytes: max(ring, staged) with
//   ring   = stages * (tile_m + tile_n) * tile_k * 2
//   staged = tile_m * (tile_n + 8) * (warps_k == 1 && D is not f32 ? 2 : 4 * warps_k)
// loads 0: cp.async of 16 bytes; needs k contiguous, A, B on 16-byte boundaries and lda, ldb
// multiples of 8. loads 1: element by element through registers, whatever the layout, base and
// leading dimension (parts/element_loader.cuh); for small problems. C, D: any address and leading
// dimension. kBatched 1: a batch of products, whose tiles follow each other; the rules for A and B
// hold for each matrix. kFused 1: bias and activation follow (parts/activation.cuh). kOutputType:
// of C, D and the bias, which is A and B's or, with f32 accumulators, f32. Grid: any number of CTAs
// up to one a tile; fewer walk the tiles by that stride.

#include "config.cuh"
#include "parts/activation.cuh"
#include "parts/args.cuh"
#include "parts/cp_async.cuh"
#include "parts/element_loader.cuh"
#include "parts/ldmatrix.cuh"
#include "parts/mma_sync.cuh"
#include "parts/pdl.cuh"
#include "parts/prefetch_rows.cuh"
#include "parts/staged_store.cuh"
#include "parts/stmatrix.cuh"
#include "parts/tile_order.cuh"
#include "parts/types.cuh"

namespace {

using namespace gemmsmith_kernels;

constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kWarpsMn = kWarpsM * kWarpsN;
constexpr int kThreads = 32 * kWarpsMn * kWarpsK;
constexpr int kWarpTileM = kTileM / kWarpsM;
constexpr int kWarpTileN = kTileN / kWarpsN;
constexpr int kBlocksM = kWarpTileM / kMmaM;
constexpr int kBlocksN = kWarpTileN / kMmaN;
constexpr int kSteps = kTileK / kMmaK / kWarpsK;  // of mma k, a k tile, in one warp

constexpr int kRowBytes = kTileK * 2;
constexpr int kRowChunks = kTileK / kCopyElements;
constexpr int kStageBytesA = kTileM * kRowBytes;
constexpr int kStageBytes = (kTileM + kTileN) * kRowBytes;

static_assert(kTileM % (kMmaM * kWarpsM) == 0, "tile_m must give each warp whole 16-row blocks");
static_assert(kTileN % (kMmaN * kWarpsN) == 0, "tile_n must give each warp whole 8-column blocks");
static_assert(kTileN % 16 == 0, "tile_n must be a multiple of 16");
static_assert(kSteps >= 1 && kSteps * kMmaK * kWarpsK == kTileK, "warps_k must divide tile_k / 16");
static_assert((kSteps & (kSteps - 1)) == 0, "a warp's k steps must be a power of two");
static_assert(kStages >= 2, "a ring needs two stages");
static_assert(kThreads <= 1024, "a CTA has at most 1024 threads");
static_assert(kOutputType == kElementType ||
                  (kOutputType == kElementF32 && kAccumulatorType == kAccumulatorF32),
              "D has its operands' type, or that of f32 accumulators");

// Two sets of fragments hide ldmatrix behind mma.sync, where the registers allow (40: addresses and
// the like); beyond that a spill would cost more.
constexpr int kAccumulatorRegisters =
    kBlocksM * kBlocksN * (kAccumulatorType == kAccumulatorF32 ? 4 : 2);
constexpr int kFragmentRegisters = kBlocksM * 4 + kBlocksN * 2;
constexpr int kRegisterLimit = 65536 / kThreads < 255 ? 65536 / kThreads : 255;
constexpr bool kOverlapFragments =
    kAccumulatorRegisters + 2 * kFragmentRegisters + 40 <= kRegisterLimit;

using Tile = Accumulators<kAccumulatorType>[kBlocksM][kBlocksN];

// Where this thread's warp works inside the CTA's tile.
struct Warp {
  int lane;
  int m;  // first row of the warp's tile
  int n;  // first column
  int k;  // which slice of each k tile, 0 .. warps_k

  __device__ __forceinline__ Warp() {
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int in_slice = warp % kWarpsMn;
    lane = static_cast<int>(threadIdx.x % 32);
    m = in_slice / kWarpsN * kWarpTileM;
    n = in_slice % kWarpsN * kWarpTileN;
    k = warp / kWarpsMn;
  }
};

// A chunk's offset in a stage's operand.
__device__ __forceinline__ u32 chunk_place(int row, int chunk) {
  return static_cast<u32>(row * kRowBytes + (chunk ^ swizzle_of_row<kRowChunks>(row)) * kCopyBytes);
}

// One operand's share of the copies: this thread moves one chunk column of every kRowsPerPass-th
// row. Rows beyond the operand are left as they are: they reach only rows or columns of the tile
// that lie outside D and are never stored.
template <int kRows>
class OperandLoader {
 public:
  __device__ __forceinline__ OperandLoader(const void* operand, i64 ld, int first_row, int rows)
      : row_(static_cast<int>(threadIdx.x / kRowChunks)),
        row_end_(rows - first_row < kRows ? rows - first_row : kRows),
        place_(place(row_)),
        pass_elements_(ld * kRowsPerPass),
        source_(static_cast<const u16*>(operand) + (first_row + row_) * ld +
                threadIdx.x % kRowChunks * kCopyElements) {}

  // Copies the next k tile to `stage`, all of this thread's chunks being inside k.
  __device__ __forceinline__ void load_whole(u32 stage) {
    const u16* source = source_;
#pragma unroll(kPasses <= 16 ? kPasses : 8)
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = row_ + pass * kRowsPerPass;
      // The swizzle repeats every 8 rows.
      const u32 to = kRowsPerPass % 8 == 0 ? place_ + pass * kRowsPerPass * kRowBytes : place(row);
      if (row < row_end_) copy_async(stage + to, source);
      source += pass_elements_;  // a running pointer: one register pair, not one a pass
    }
    source_ += kTileK;
  }

  // The same when only the first `bytes` of this thread's chunks are inside k.
  __device__ __forceinline__ void load_part(u32 stage, u32 bytes) {
    const u16* source = source_;
#pragma unroll 1
    for (int row = row_; row < row_end_; row += kRowsPerPass) {
      copy_async_or_zero(stage + place(row), source, bytes);
      source += pass_elements_;
    }
    source_ += kTileK;
  }

 private:
  static constexpr int kRowsPerPass = kThreads / kRowChunks;
  static constexpr int kPasses = ceil_div(kRows, kRowsPerPass);

  __device__ __forceinline__ static u32 place(int row) {
    return chunk_place(row, static_cast<int>(threadIdx.x % kRowChunks));
  }

  int row_;
  int row_end_;
  u32 place_;  // of row_ inside a stage
  i64 pass_elements_;
  const u16* source_;
};

// Both operands' k tiles, in order: by cp.async, or element by element. (Templates, so that what
// this kernel does not use is not compiled.)
template <int kHow, int kTile>
class TileLoaderOf {
 public:
  __device__ __forceinline__ TileLoaderOf(const GemmArgs& args, const TileCoord& tile)
      : a_(args.a, args.lda, tile.m * kTileM, args.m),
        b_(args.b, args.ldb, tile.n * kTileN, args.n),
        k_left_(args.k - static_cast<int>(threadIdx.x % kRowChunks) * kCopyElements) {}

  // The next k tile, known to be whole.
  __device__ __forceinline__ void load_whole(u32 stage) {
    a_.load_whole(stage);
    b_.load_whole(stage + kStageBytesA);
    k_left_ -= kTileK;
  }

  // The next k tile, which may be the last.
  __device__ __forceinline__ void load(u32 stage) {
    if (k_left_ >= kCopyElements) {
      load_whole(stage);
      return;
    }
    const u32 bytes = k_left_ < 0 ? 0u : static_cast<u32>(k_left_) * sizeof(u16);
    a_.load_part(stage, bytes);
    b_.load_part(stage + kStageBytesA, bytes);
    k_left_ -= kTileK;
  }

 private:
  OperandLoader<kHow == 0 ? kTileM : 0> a_;
  OperandLoader<kHow == 0 ? kTileN : 0> b_;
  int k_left_;  // from this thread's chunk of the next tile; negative once past the end
};

template <int kTile>
class TileLoaderOf<1, kTile> {
 public:
  __device__ __forceinline__ TileLoaderOf(const GemmArgs& args, const TileCoord& tile)
      : a_(args.a, args.lda, tile.m * kTileM, args.m, args.k),
        b_(args.b, args.ldb, tile.n * kTileN, args.n, args.k) {}

  __device__ __forceinline__ void load_whole(u32 stage) { load(stage); }
  __device__ __forceinline__ void load(u32 stage) {
    const auto place = [](int row, int chunk) { return chunk_place(row, chunk); };
    a_.load(stage, place);
    b_.load(stage + kStageBytesA, place);
  }

 private:
  ElementLoader<kTileM, kTileK, kThreads, kAlongKA == 1> a_;
  ElementLoader<kTileN, kTileK, kThreads, kAlongKB == 1> b_;
};

using TileLoader = TileLoaderOf<kLoads, kTileK>;

// Asks L2 for the first k tiles of the CTA's first tile, before its predecessor has finished.
__device__ __forceinline__ void prefetch_operands(const GemmArgs& args, const TileCoord& tile) {
  const int wanted = args.prefetch_k_tiles * kTileK;
  const int columns = args.k < wanted ? args.k : wanted;
  prefetch_rows<kTileM, kThreads>(args.a, args.lda, tile.m * kTileM, args.m, columns, tile.n,
                                  args.tiles_n);
  prefetch_rows<kTileN, kThreads>(args.b, args.ldb, tile.n * kTileN, args.n, columns, tile.m,
                                  args.tiles_m);
}

// Starts the first k tiles, as many as the ring holds.
__device__ __forceinline__ void fill_ring(TileLoader& loader, u32 ring, int k_tiles, int k) {
  // Unrolled it saves a tiny kernel some tenths of a microsecond; with many copies a thread, or
  // with elements, which come through registers, it only costs compile time and registers.
  constexpr int kCopies = kStages * (kTileM + kTileN) * kRowChunks / kThreads;
  constexpr int kUnroll = kLoads == 0 && kCopies <= 24 ? kStages : 1;
  if (k_tiles > 0 && k >= kStages * kTileK) {
#pragma unroll kUnroll
    for (int stage = 0; stage < kStages; ++stage) {
      loader.load_whole(ring + stage * kStageBytes);
      commit_copies();
    }
    return;
  }
#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage) {
    if (stage < k_tiles) loader.load(ring + stage * kStageBytes);
    commit_copies();
  }
}

// One k step's operands of a warp.
struct Fragments {
  u32 a[kBlocksM][4];
  u32 b[kBlocksN][2];
};

// Reads fragments out of a stage. A lane's row is fixed, so its address is a constant plus the
// swizzled chunk, in which the k step is one XOR.
class FragmentReader {
 public:
  __device__ __forceinline__ explicit FragmentReader(const Warp& warp) {
    // A's four matrices: rows 0-7 and 8-15 at k 0, the same at k 8.
    const int row_a = warp.m + warp.lane % 16;
    const int chunk_a = warp.lane / 16;
    // B's: columns 0-7 at k 0 and k 8, then columns 8-15 at k 0 and k 8.
    const int row_b = warp.n + warp.lane / 16 * 8 + warp.lane % 8;
    const int chunk_b = warp.lane / 8 % 2;
    const u32 slice = static_cast<u32>(warp.k * kSteps * kMmaK * 2);
    row_a_ = static_cast<u32>(row_a * kRowBytes);
    row_b_ = static_cast<u32>(kStageBytesA + row_b * kRowBytes);
    chunk_a_ = static_cast<u32>((chunk_a ^ swizzle_of_row<kRowChunks>(row_a)) * kCopyBytes) ^ slice;
    chunk_b_ = static_cast<u32>((chunk_b ^ swizzle_of_row<kRowChunks>(row_b)) * kCopyBytes) ^ slice;
  }

  __device__ __forceinline__ void read(Fragments& to, u32 stage, int step) const {
    const u32 k_bytes = static_cast<u32>(step * kMmaK * 2);
    const u32 a = stage + row_a_ + (chunk_a_ ^ k_bytes);
    const u32 b = stage + row_b_ + (chunk_b_ ^ k_bytes);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) load_matrices_x4(to.a[i], a + i * kMmaM * kRowBytes);
#pragma unroll
    for (int j = 0; j + 1 < kBlocksN; j += 2) {
      u32 pair[4];
      load_matrices_x4(pair, b + j * kMmaN * kRowBytes);
      to.b[j][0] = pair[0];
      to.b[j][1] = pair[1];
      to.b[j + 1][0] = pair[2];
      to.b[j + 1][1] = pair[3];
    }
    if constexpr (kBlocksN % 2 != 0) {
      load_matrices_x2(to.b[kBlocksN - 1], b + (kBlocksN - 1) * kMmaN * kRowBytes);
    }
  }

 private:
  u32 row_a_;
  u32 row_b_;
  u32 chunk_a_;
  u32 chunk_b_;
};

__device__ __forceinline__ void multiply(Tile& tile, const Fragments& x) {
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      // Back and forth along n: the next instruction shares an operand with the last.
      const int col = i % 2 == 0 ? j : kBlocksN - 1 - j;
      multiply_add<kElementType>(tile[i][col], x.a[i], x.b[col][0], x.b[col][1]);
    }
  }
}

// Opens k tile `next`, which all threads then see, and refills the slot of the tile before it,
// which all have read.
__device__ __forceinline__ u32 advance(TileLoader& loader, u32 ring, u32 slot, int next,
                                       int k_tiles) {
  wait_for_copies<kStages - 2>();
  __syncthreads();
  if (next - 1 + kStages < k_tiles) loader.load(slot);
  commit_copies();
  return slot == ring + (kStages - 1) * kStageBytes ? ring : slot + kStageBytes;
}

// tile += A's rows times B's columns over k_tiles k tiles, with one set of fragments.
__device__ __forceinline__ void multiply_in_turn(Tile& tile, TileLoader& loader,
                                                 const FragmentReader& reader, u32 ring,
                                                 int k_tiles) {
  Fragments fragments;
  u32 slot = ring;
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
    if (t > 0) slot = advance(loader, ring, slot, t, k_tiles);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      reader.read(fragments, slot, step);
      multiply(tile, fragments);
    }
  }
}

// The same with two: the next step's are read while this step's multiply, across k tiles too.
__device__ __forceinline__ void multiply_overlapped(Tile& tile, TileLoader& loader,
                                                    const FragmentReader& reader, u32 ring,
                                                    int k_tiles) {
  Fragments fragments[2];
  u32 slot = ring;
  reader.read(fragments[0], slot, 0);
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Fragments& next = fragments[(step + 1) % 2];
      if (step + 1 < kSteps) {
        reader.read(next, slot, step + 1);
      } else if (t + 1 < k_tiles) {
        slot = advance(loader, ring, slot, t + 1, k_tiles);
        reader.read(next, slot, 0);
      }
      multiply(tile, fragments[step % 2]);
    }
    if constexpr (kSteps % 2 != 0) fragments[0] = fragments[1];
  }
}

struct Scale {
  float alpha;
  float beta;
};

// The CTA's tile of C and D, and what fused kernels do to its elements last.
struct OutputTile {
  using Element = Storage<kOutputType>;

  const Element* c;
  Element* d;
  const Element* bias;
  int activation;
  i64 ldc;
  i64 ldd;
  int rows;  // inside D
  int cols;

  __device__ __forceinline__ OutputTile(const GemmArgs& args, const TileCoord& tile)
      : activation(args.activation), ldc(args.ldc), ldd(args.ldd) {
    const i64 row = static_cast<i64>(tile.m) * kTileM;
    const i64 col = static_cast<i64>(tile.n) * kTileN;
    c = static_cast<const Element*>(args.c) + row * ldc + col;
    d = static_cast<Element*>(args.d) + row * ldd + col;
    bias = args.bias == nullptr ? nullptr : static_cast<const Element*>(args.bias) + col;
    rows = args.m - static_cast<int>(row) < kTileM ? args.m - static_cast<int>(row) : kTileM;
    cols = args.n - static_cast<int>(col) < kTileN ? args.n - static_cast<int>(col) : kTileN;
  }

  __device__ __forceinline__ float c_or_zero(int row, int col) const {
    if (row >= rows || col < 0 || col >= cols) return 0.0f;
    return storage_to_float<kOutputType>(c[row * ldc + col]);
  }
  __device__ __forceinline__ float bias_or_zero(int col) const {
    return col >= 0 && col < cols ? storage_to_float<kOutputType>(bias[col]) : 0.0f;
  }
  // Bias and activation of neighbours in a row, the first of which is in column `col`.
  template <int kCount>
  __device__ __forceinline__ void finish(int col, float (&values)[kCount]) const {
    if constexpr (kFused == 1) {
      if (bias != nullptr) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) values[i] += bias_or_zero(col + i);
      }
      with_activation(activation, [&](auto function) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) values[i] = function(values[i]);
      });
    }
  }
  // Only whole 16-byte chunks, each on a boundary.
  __device__ __forceinline__ bool whole_chunks(const RowShift& shift) const {
    return !shift.any() && cols % kChunkElements == 0;
  }
};

// Calls use(row, col, low, high) for each pair of neighbours that this thread's accumulators hold.
template <typename Use>
__device__ __forceinline__ void for_each_pair(const Warp& warp, const Tile& tile, Use use) {
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp.m + i * kMmaM + half * 8 + warp.lane / 4;
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        const int col = warp.n + j * kMmaN + warp.lane % 4 * 2;
        use(row, col, tile[i][j].get(half, 0), tile[i][j].get(half, 1));
      }
    }
  }
}

// Calls use for each chunk of the staged tile.
template <typename Use>
__device__ __forceinline__ void for_each_chunk(const RowShift& shift, int rows, Use use) {
  const int thread = static_cast<int>(threadIdx.x);
  if (shift.any()) {
    gemmsmith_kernels::for_each_chunk<kTileM, kTileN, kThreads, true>(shift, rows, thread, use);
  } else {
    gemmsmith_kernels::for_each_chunk<kTileM, kTileN, kThreads, false>(shift, rows, thread, use);
  }
}

// The warp's accumulators, scaled, finished and rounded, to the staged tile; no shifts.
__device__ __forceinline__ void stage_aligned(const Tile& tile, const Warp& warp, u16* staged,
                                              const OutputTile& out, float alpha) {
  const auto pack = [&](int col, float low, float high) {
    float values[2] = {alpha * low, alpha * high};
    out.finish(col, values);
    return pack_elements<kElementType>(values[0], values[1]);
  };
  const auto pair = [&](int i, int j, int half) {
    return pack(warp.n + j * kMmaN + warp.lane % 4 * 2, tile[i][j].get(half, 0),
                tile[i][j].get(half, 1));
  };
  if constexpr (kArch >= 90 && kBlocksN % 2 == 0) {
    // Matrices: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15.
    const int row = warp.m + warp.lane % 16;
    const int col = warp.n + warp.lane / 16 * 8;
    const u32 address = shared_address(staged + row * staged_pitch(kTileN) + col);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < kBlocksN; j += 2) {
        const u32 offset =
            static_cast<u32>((i * kMmaM * staged_pitch(kTileN) + j * kMmaN) * sizeof(u16));
        stmatrix_x4(address + offset, pair(i, j, 0), pair(i, j, 1), pair(i, j + 1, 0),
                    pair(i, j + 1, 1));
      }
    }
  } else {
    for_each_pair(warp, tile, [&](int row, int col, float low, float high) {
      *reinterpret_cast<u32*>(staged + row * staged_pitch(kTileN) + col) = pack(col, low, high);
    });
  }
}

// The same for any shift and beta. C passes through the same memory first, so that global memory
// sees rows, and each element is then replaced by the thread that computes it.
__device__ __forceinline__ void stage_any(const Tile& tile, const Warp& warp, u16* staged,
                                          const RowShift& shift, const OutputTile& out,
                                          const Scale& scale) {
  if (scale.beta != 0.0f) {
    for_each_chunk(shift, out.rows, [&](int row, int col, int offset) {
      for (int i = 0; i < kChunkElements; ++i) {
        staged[offset + i] = float_to_element<kElementType>(out.c_or_zero(row, col + i));
      }
    });
    __syncthreads();
  }
  for_each_pair(warp, tile, [&](int row, int col, float low, float high) {
    u16* place = staged + row * staged_pitch(kTileN) + col + shift.of(row);
    float values[2] = {low * scale.alpha, high * scale.alpha};
    if (scale.beta != 0.0f) {
      values[0] += scale.beta * element_to_float<kElementType>(place[0]);
      values[1] += scale.beta * element_to_float<kElementType>(place[1]);
    }
    out.finish(col, values);
    place[0] = float_to_element<kElementType>(values[0]);
    place[1] = float_to_element<kElementType>(values[1]);
  });
}

// One slice of k: the results are final in registers, so they are scaled and rounded before
// staging. A template, so that kernels with an f32 D never see its body.
template <class Output>
__device__ __forceinline__ void store_rounded(const Tile& tile, const Warp& warp, u16* staged,
                                              const Output& out, const Scale& scale) {
  const RowShift shift = row_shift(out.d, out.ldd);
  if (scale.beta == 0.0f && !shift.any()) {
    stage_aligned(tile, warp, staged, out, scale.alpha);
  } else {
    stage_any(tile, warp, staged, shift, out, scale);
  }
  __syncthreads();
  if (out.whole_chunks(shift)) {
    store_whole_chunks<kTileM, kTileN, kThreads>(out.d, out.ldd, out.rows, out.cols, staged,
                                                 static_cast<int>(threadIdx.x));
  } else {
    for_each_chunk(shift, out.rows, [&](int row, int col, int offset) {
      store_chunk(out.d + row * out.ldd, col, out.cols, load_staged(staged + offset));
    });
  }
}

constexpr int kPlane = kTileM * staged_pitch(kTileN);  // one slice's staged tile

// The sums of one chunk over the slices of k; `offset` is its place in a plane.
__device__ __forceinline__ void sum_slices(const float* staged, int offset,
                                           float (&sum)[kChunkElements]) {
#pragma unroll
  for (int i = 0; i < kChunkElements; ++i) sum[i] = 0.0f;
#pragma unroll
  for (int slice = 0; slice < kWarpsK; ++slice) {
    const float4* part = reinterpret_cast<const float4*>(staged + slice * kPlane + offset);
    const float4 low = part[0];
    const float4 high = part[1];
    const float parts[kChunkElements] = {low.x,  low.y,  low.z,  low.w,
                                         high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < kChunkElements; ++i) sum[i] += parts[i];
  }
}

__device__ __forceinline__ uint4 pack_chunk(const float (&sum)[kChunkElements]) {
  return make_uint4(
      pack_elements<kElementType>(sum[0], sum[1]), pack_elements<kElementType>(sum[2], sum[3]),
      pack_elements<kElementType>(sum[4], sum[5]), pack_elements<kElementType>(sum[6], sum[7]));
}

// A finished chunk in D's type, until it is stored.
template <class Element>
struct FinishedChunk {
  uint4 packed;

  __device__ __forceinline__ void set(const float (&sum)[kChunkElements]) {
    packed = pack_chunk(sum);
  }
  __device__ __forceinline__ void store(u16* to) const { store_global(to, packed); }
};
template <>
struct FinishedChunk<float> {
  float value[kChunkElements];

  __device__ __forceinline__ void set(const float (&sum)[kChunkElements]) {
#pragma unroll
    for (int i = 0; i < kChunkElements; ++i) value[i] = sum[i];
  }
  __device__ __forceinline__ void store(float* to) const { store_floats(to, value); }
};

// As store_chunk(), rounding.
__device__ __forceinline__ void store_sum(u16* row, int col, int cols,
                                          const float (&sum)[kChunkElements]) {
  store_chunk(row, col, cols, pack_chunk(sum));
}
__device__ __forceinline__ void store_sum(float* row, int col, int cols,
                                          const float (&sum)[kChunkElements]) {
  store_chunk(row, col, cols, sum);
}

// Sums and stores where no chunk needs a thought: no shifts, whole chunks, no C. As in
// store_whole_chunks, reads come before stores.
__device__ __forceinline__ void store_sums(const float* staged, const OutputTile& out,
                                           float alpha) {
  constexpr int kPerRow = kTileN / kChunkElements;
  constexpr int kRowsPerPass = kThreads / kPerRow;
  constexpr int kPasses = ceil_div(kTileM, kRowsPerPass);
  constexpr int kBatch = kPasses < 4 ? kPasses : 4;
  const int thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(static_cast<u32>(thread) / kPerRow);
  const int col = (thread - first * kPerRow) * kChunkElements;
  if (first >= kRowsPerPass || col >= out.cols) return;
  const int offset = first * staged_pitch(kTileN) + col;
  OutputTile::Element* const to = out.d + first * out.ldd + col;
#pragma unroll 1
  for (int start = 0; start < kPasses; start += kBatch) {
    FinishedChunk<OutputTile::Element> chunks[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int row = (start + i) * kRowsPerPass;
      const bool staged_row = kTileM % (kRowsPerPass * kBatch) == 0 || first + row < kTileM;
      float sum[kChunkElements];
      sum_slices(staged, staged_row ? offset + row * staged_pitch(kTileN) : offset, sum);
#pragma unroll
      for (int j = 0; j < kChunkElements; ++j) sum[j] *= alpha;
      out.finish(col, sum);
      chunks[i].set(sum);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int row = (start + i) * kRowsPerPass;
      if (first + row < out.rows) chunks[i].store(to + row * out.ldd);
    }
  }
}

// Several slices of k: each stages its f32 partial tile, and whoever copies a chunk out adds them
// up. One slice is staged so, too, where D is f32.
__device__ __forceinline__ void store_summed(const Tile& tile, const Warp& warp, float* staged,
                                             const OutputTile& out, const Scale& scale) {
  const RowShift shift = row_shift(out.d, out.ldd);
  float* plane = staged + warp.k * kPlane;
  if (shift.any()) {
    for_each_pair(warp, tile, [&](int row, int col, float low, float high) {
      float* place = plane + row * staged_pitch(kTileN) + col + shift.of(row);
      place[0] = low;
      place[1] = high;
    });
  } else {
    for_each_pair(warp, tile, [&](int row, int col, float low, float high) {
      *reinterpret_cast<float2*>(plane + row * staged_pitch(kTileN) + col) = make_float2(low, high);
    });
  }
  __syncthreads();
  // With at most one chunk a thread the general loop below is as quick and less code to fetch.
  if constexpr (kTileM * kTileN > kThreads * kChunkElements) {
    if (scale.beta == 0.0f && out.whole_chunks(shift)) {
      store_sums(staged, out, scale.alpha);
      return;
    }
  }
  for_each_chunk(shift, out.rows, [&](int row, int col, int offset) {
    float sum[kChunkElements];
    sum_slices(staged, offset, sum);
#pragma unroll
    for (int i = 0; i < kChunkElements; ++i) sum[i] *= scale.alpha;
    if (scale.beta != 0.0f) {
#pragma unroll
      for (int i = 0; i < kChunkElements; ++i) {
        sum[i] += scale.beta * out.c_or_zero(row, col + i);
      }
    }
    out.finish(col, sum);
    store_sum(out.d + row * out.ldd, col, out.cols, sum);
  });
}

template <class Output>
__device__ __forceinline__ void store_tile(const Tile& tile, const Warp& warp,
                                           unsigned char* shared, const Output& out,
                                           const Scale& scale) {
  if constexpr (kWarpsK == 1 && kOutputType != kElementF32) {
    store_rounded(tile, warp, reinterpret_cast<u16*>(shared), out, scale);
  } else {
    store_summed(tile, warp, reinterpret_cast<float*>(shared), out, scale);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ GemmArgs args) {
  extern __shared__ __align__(128) unsigned char shared[];
  const u32 ring = shared_address(shared);
  const Warp warp;
  const FragmentReader reader(warp);
  const u32 tiles = tile_count<kBatched == 1>(args, static_cast<u32>(args.tiles_m),
                                              static_cast<u32>(args.tiles_n));
  const auto coord_of = [&](u32 index) {
    return tile_of_batch<kBatched == 1>(args, index, static_cast<u32>(args.tiles_m),
                                        static_cast<u32>(args.tiles_n));
  };
  TileCoord coord = coord_of(blockIdx.x);
  // Never true, but the compiler must find the tile out before the wait instead of after it.
  if (coord.m >= args.tiles_m) return;

  if constexpr (kLoads == 0) {
    if (args.prefetch_k_tiles > 0) {
      prefetch_operands(matrix_args<kBatched == 1, kOutputType>(args, coord.matrix), coord);
    }
  }
  wait_for_predecessor();
  const Scale scale = {args.alpha_device != nullptr ? *args.alpha_device : args.alpha,
                       args.beta_device != nullptr ? *args.beta_device : args.beta};
  // As in BLAS, A and B do not count when alpha is 0, not even their NaNs.
  const int k_tiles = scale.alpha == 0.0f ? 0 : ceil_div(args.k, kTileK);

  u32 index = blockIdx.x;
  while (true) {
    const GemmArgs& own = matrix_args<kBatched == 1, kOutputType>(args, coord.matrix);
    TileLoader loader(own, coord);
    fill_ring(loader, ring, k_tiles, args.k);
    let_successor_start();

    Tile tile;
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) tile[i][j].clear();
    }
    wait_for_copies<kStages - 1>();
    __syncthreads();  // k tile 0 is here
    if constexpr (kOverlapFragments) {
      multiply_overlapped(tile, loader, reader, ring, k_tiles);
    } else {
      multiply_in_turn(tile, loader, reader, ring, k_tiles);
    }

    __syncthreads();  // the last fragments have been read: the ring's memory is free for staging
    store_tile(tile, warp, shared, OutputTile(own, coord), scale);

    index += gridDim.x;
    if (index >= tiles) break;
    coord = coord_of(index);
    __syncthreads();  // this tile has left the ring's memory
  }
}
