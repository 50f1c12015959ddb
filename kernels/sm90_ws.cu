// sm90_ws.cu -- family sm90_ws: warp-specialised GEMM on Hopper (sm_90a).
//
//                    full[s]: bytes have come                        per stage s: A slabs, B slabs
//   producer warp ---TMA---> shared memory, `stages` deep ---wgmma---> consumer warpgroup(s)
//         ^                                                               |
//         +------------------- empty[s]: operands were read <-------------+
//                                                    accumulators --stmatrix--> staging --TMA--> D
//
// The producer walks the CTA's tiles and, within each, its k tiles; it runs as far ahead as there
// are free stages, also into the next tile. Consumers keep one wgmma group in flight: only when
// stage s has been issued is stage s-1 known to be read, and released. Two consumers share a tile
// (cooperative: each takes half the rows or, when those are not whole 64-row blocks, half the
// columns) or take tiles in turn (pingpong: one stores while the other multiplies).
//
// In a cluster of cluster_m x cluster_n CTAs, A's rows are wanted by cluster_n CTAs and B's by
// cluster_m: each loads its part and multicasts it. With split_k, several CTAs share one tile's k
// range: a cluster that adds up through distributed shared memory (parts/split_k.cuh), or CTAs that
// add up through a workspace (parts/split_workspace.cuh).
//
// A and B may each have k or their other dimension contiguous (kAlongKA, kAlongKB 1 or 0); how they
// then lie in a stage: parts/operand_slab.cuh.
//
// Parameters (config.cuh): kTranspose 0, 1; kTileM 64..256 by 64; kTileN 8..256 by 8; kTileK a
// multiple of 64; kStages >= 2; kConsumers 1, 2; kSchedule 0 cooperative, 1 pingpong; kClusterM,
// kClusterN; kEpilogue 0 TMA store, 1 rows (any D); kSplit 0 none, 1 cluster, 2 workspace.
//
// Legality, with R 64-row blocks and C columns of one consumer:
//   cooperative, 2 consumers, tile_m % 128 == 0:  R = tile_m / 128, C = tile_n
//   cooperative, 2 consumers, otherwise:          R = tile_m / 64,  C = tile_n / 2
//   pingpong (2 consumers) or 1 consumer:         R = tile_m / 64,  C = tile_n
// - C is a multiple of 8, at most 256.
// - Accumulator registers: R * C / 2 for f32, R * C / 4 for f16; at most 192.
// - Multicast parts of an operand with k contiguous: tile_m / cluster_n or tile_n / cluster_m are
//   multiples of 8.
// - B with n contiguous: W, the largest of 64, 32, 16 that divides tile_n, divides C.
// - kEpilogue 0: n and ldd are multiples of 8 (of 4 where D is f32), D's base 16-byte aligned.
// - kSplit: cluster_m * cluster_n == 1, not pingpong, one tile a CTA (not persistent), split_k CTAs
//   a tile; kEpilogue has no effect. 1: split_k 2..16 (above 8 non-portable). 2: split_k 2..32, all
//   CTAs on the device at once, a workspace of tiles * split_k * tile_m * tile_n accumulators and
//   4 * consumers counters a tile.
// - Pingpong wants persistent launches: with one tile a CTA its second consumer idles.
//
// Dynamic shared memory in bytes, at most 232448:
//   stages * (tile_m + tile_n) * tile_k * 2
//   + 16 * stages
//   + consumers * (kSplit == 1 ? split_k * ceil(R * C / 8 / split_k) * 2048
//                  : kSplit == 2 ? 0
//                  : kEpilogue == 0 ? (C > X ? 2 : 1) * min(C, X) * 8192 / X
//                  : C >= X ? 8192 : 0), X the columns of D in 128 bytes: 64, or 32 of f32
//
// kBatched 1: a batch of products, whose tiles follow each other (parts/tile_order.cuh); "tiles"
// below are all of them. The tensor maps then have the matrices as a third dimension, with a box of
// 1; an operand that the whole batch shares has one matrix.
//
// kGrouped 1: groups of rows of A and D, each with a B of its own, whose ends are on the device
// (parts/group_walk.cuh). Only B's map has a third dimension. Takes persistent launches, kEpilogue
// 1 (a tile's last rows may be the next group's), no clusters and no split.
//
// kTranspose 1: the kernel computes D^T = B^T A^T. The arguments and the maps of A and B are those
// of that product (the host exchanges them), ldc and ldd are C's and D's own, and fragments are
// transposed on their way to D (parts/stage_transposed.cuh, parts/store_direct.cuh). 16-bit D only;
// not with groups; kEpilogue 0 or kSplit > 0.
//
// kFused 1: bias and activation follow (parts/epilogue.cuh), as the arguments say. Not with groups.
//
// kOutputType: of C, D and the bias, which is A and B's or, with f32 accumulators, f32.
//
// Grid: at most one cluster a cluster-sized block of tiles, so that every CTA has a tile. kSplit 2:
// tiles x split_k, so that CTAs that read the same k range follow each other.
//
// Threads: 128 * consumers + (consumers == 2 && accumulator registers > F ? 128 : 32), F = 80 where
// D is stored by rows (kEpilogue 1 and kSplit 0), else 96.
//
// Tensor maps, inner dimension first; out of bounds reads as zero:
//   A {k, m}, stride lda, box {64, tile_m / cluster_n}, 128-byte swizzle; or, with m contiguous,
//     {m, k}, box {64, 64 / cluster_n}, 128-byte swizzle
//   B {k, n}, stride ldb, box {64, tile_n / cluster_m}, 128-byte swizzle; or, with n contiguous,
//     {n, k}, box {W, 64 / cluster_m}, swizzled over the box's row
//   D {n, m}, stride ldd, box {X, 64}, X the largest of 64, 32, 16, 8 (of f32: 32, 16, 8) that
//     divides C, swizzled over the box's row: 128, 64, 32 bytes, none. May be zero when kEpilogue
//     == 1 or kSplit > 0. kTranspose 1: box {64, X}, 128-byte swizzle.
#include "config.cuh"
#include "parts/args.cuh"
#include "parts/epilogue.cuh"
#include "parts/group_walk.cuh"
#include "parts/mbarrier.cuh"
#include "parts/operand_slab.cuh"
#include "parts/pdl.cuh"
#include "parts/split_k.cuh"
#include "parts/split_workspace.cuh"
#include "parts/store_rows.cuh"
#include "parts/store_tma.cuh"
#include "parts/sync.cuh"
#include "parts/tile_order.cuh"
#include "parts/tma.cuh"
#include "parts/types.cuh"
#include "parts/wgmma.cuh"
#include "parts/wgmma_fragment.cuh"
#include "wgmma_config.cuh"

namespace gemmsmith_kernels {

// ---- what follows from the parameters ----------------------------------------------------------

constexpr bool kPingpong = kSchedule == 1;
constexpr bool kShared = kConsumers == 2 && !kPingpong;  // two consumers on one tile
constexpr bool kSplitRows = kShared && kTileM % 128 == 0;
constexpr bool kSplitColumns = kShared && !kSplitRows;
constexpr int kRows = kSplitRows ? kTileM / 2 : kTileM;  // of one consumer
constexpr int kColumns = kSplitColumns ? kTileN / 2 : kTileN;
constexpr int kRowBlocks = kRows / 64;
constexpr int kSlabs = kTileK / kSlabElems;

constexpr bool kF16Accumulator = kAccumulatorType == kAccumulatorF16;
constexpr int kRegisters = kColumns / (kF16Accumulator ? 4 : 2);  // of one 64-row block
template <bool kF16>
struct AccumulatorRegister {
  using Type = float;
};
template <>
struct AccumulatorRegister<true> {
  using Type = u32;
};
using Accumulator = AccumulatorRegister<kF16Accumulator>::Type;

// Three warpgroups leave 168 registers a thread, and so do nine warps, for each quarter of an SM
// has a quarter of its registers. Accumulators that need more than that get the producer's: 3 * 168
// = 40 + 2 * 232. Otherwise a single producer warp will do. Storing by rows takes more registers,
// for addresses, than storing by TMA.
constexpr bool kStoresRows = kEpilogue == 1 && kSplit == 0;
constexpr bool kMovesRegisters = kConsumers == 2 &&
                                 kRowBlocks * kRegisters > (kStoresRows ? 80 : 96);
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;
constexpr int kConsumerThreads = 128 * kConsumers;
constexpr int kThreads = kConsumerThreads + (kMovesRegisters ? 128 : 32);
constexpr u32 kProducerWarp = kConsumerThreads / 32;

constexpr int kClusterTiles = kClusterM * kClusterN;
constexpr bool kMulticast = kClusterTiles > 1;
constexpr u32 kSources =
    kClusterM + kClusterN - 1;  // CTAs that write our stages, and that we write

constexpr bool kStagesD = kEpilogue == 0 && kSplit == 0;
constexpr int kDimensions = kBatched == 1 ? 3 : 2;  // of the tensor maps
constexpr int kDimensionsB = kBatched == 1 || kGrouped == 1 ? 3 : 2;
using SlabA = OperandSlab<kAlongKA == 1, kTileM, kClusterN, kDimensions>;
using SlabB = OperandSlab<kAlongKB == 1, kTileN, kClusterM, kDimensionsB>;
constexpr u32 kStageBytes = kSlabs * (SlabA::kBytes + SlabB::kBytes);
constexpr u32 kStagingOffset = kStages * kStageBytes;
constexpr u32 kStagingBytes = kSplit > 0 ? 0  // of one consumer
                              : kStagesD ? store_staging_bytes<kOutputType>(kColumns)
                                         : store_rows_bytes<kOutputType>(kColumns);
constexpr u32 kBarrierOffset = kStagingOffset + kConsumers * kStagingBytes;
constexpr u32 kExchangeOffset = kBarrierOffset + 16 * kStages;

static_assert(kTileM % 64 == 0 && kTileN % 8 == 0 && kTileK % 64 == 0, "tile is not whole blocks");
static_assert(kStages >= 2, "a stage is released only once the next one has been issued");
static_assert(kColumns % 8 == 0, "two consumers cannot halve the columns into groups of 8");
static_assert(kRowBlocks * kRegisters <= 192, "accumulators do not fit the registers");
static_assert(kAlongKB == 1 || kColumns % SlabB::kBlock == 0,
              "a consumer's columns are not whole boxes of B");
static_assert(!kPingpong || kConsumers == 2, "pingpong takes two consumers");
static_assert(kSplit == 0 || (!kMulticast && !kPingpong),
              "split-K takes the cluster, or the whole grid, for itself");
static_assert(kOutputType == kElementType || (kOutputType == kElementF32 && !kF16Accumulator),
              "D has its operands' type, or that of f32 accumulators");
static_assert(
    kTranspose == 0 ||
        (kGrouped == 0 && kOutputType == kElementType && (kEpilogue == 0 || kSplit > 0)),
    "transposed sums are 16 bits wide, and are stored by TMA or from a split's reduction");
static_assert(kGrouped == 0 || kFused == 0, "groups are not finished by an epilogue");
static_assert(kGrouped == 0 || (kBatched == 0 && kSplit == 0 && !kMulticast && kEpilogue == 1),
              "groups are stored by rows, without clusters, splits and batches");

// Named barriers: 0 is unused, 1 the start, then one per consumer for staging, one for its turn.
constexpr u32 kStartBarrier = 1;
constexpr u32 kStagingBarrier = 2;
constexpr u32 kTurnBarrier = 4;

// ---- the ring of stages ------------------------------------------------------------------------

struct Ring {
  u32 stage = 0;
  u32 parity = 0;  // of the stage's current use

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void skip(u32 count) {
    const u32 sum = stage + count;
    parity ^= (sum / kStages) & 1;
    stage = sum % kStages;
  }
};

struct Place {  // where this CTA stands
  u32 shared;   // shared address of the stages
  u32 rank;     // in the cluster
  u32 rank_m;
  u32 rank_n;

  __device__ __forceinline__ u32 full(u32 stage) const {
    return shared + kBarrierOffset + 8 * stage;
  }
  __device__ __forceinline__ u32 empty(u32 stage) const {
    return shared + kBarrierOffset + 8 * (kStages + stage);
  }
  __device__ __forceinline__ u32 stage(u32 index) const { return shared + index * kStageBytes; }
};

// The tiles of one cluster, in order. Counts are of clusters' blocks of tiles.
struct Walk {
  u32 index;
  u32 step;
  u32 count_m;
  u32 count_n;
  u32 matrices;  // of the batch

  __device__ __forceinline__ u32 count() const {
    return kBatched == 1 ? count_m * count_n * matrices : count_m * count_n;
  }
  __device__ __forceinline__ bool more() const { return index < count(); }
  __device__ __forceinline__ bool more_after_this() const { return index + step < count(); }
  __device__ __forceinline__ TileCoord tile(const GemmArgs& args, const Place& place) const {
    const TileCoord block = tile_of_batch<kBatched == 1>(args, index, count_m, count_n);
    return {block.m * kClusterM + static_cast<int>(place.rank_m),
            block.n * kClusterN + static_cast<int>(place.rank_n), block.matrix};
  }
};

__device__ __forceinline__ Walk start_plain_walk(const GemmArgs& args) {
  u32 index = blockIdx.x / kClusterTiles;
  u32 step = gridDim.x / kClusterTiles;
  if constexpr (kSplit == 1) {
    const u32 ctas = static_cast<u32>(args.split_k);
    index = divide(blockIdx.x, ctas, args.split_reciprocal).value;
    step = divide(gridDim.x, ctas, args.split_reciprocal).value;
  }
  return {index, step, static_cast<u32>(ceil_div(args.tiles_m, kClusterM)),
          static_cast<u32>(ceil_div(args.tiles_n, kClusterN)),
          kBatched == 1 ? static_cast<u32>(args.batch) : 1u};
}

__device__ __forceinline__ auto start_walk(const GemmArgs& args) {
  if constexpr (kGrouped == 1) {
    return GroupWalk<kTileM>(args);
  } else {
    return start_plain_walk(args);
  }
}

struct Slice {  // of the k tiles: [first, last)
  int first;
  int last;
};

__device__ __forceinline__ Slice k_slice(const GemmArgs& args, const Place& place) {
  const int k_tiles = ceil_div(args.k, kTileK);
  if constexpr (kSplit == 0) {
    return {0, k_tiles};
  }
  const u32 ranks = static_cast<u32>(args.split_k);
  const u32 first = static_cast<u32>(k_tiles) * place.rank;
  const u32 last = first + static_cast<u32>(k_tiles);
  return {static_cast<int>(divide(first, ranks, args.split_reciprocal).value),
          static_cast<int>(divide(last, ranks, args.split_reciprocal).value)};
}

// ---- producer ----------------------------------------------------------------------------------

// Where the producer is: a tile, and the matrices of A and B that it is computed from.
struct Source {
  TileCoord tile;
  int matrix_a;
  int matrix_b;
  int first_row;  // of a group
};

template <class SomeWalk>
__device__ __forceinline__ Source source_of(const GemmArgs& args, const Place& place,
                                            SomeWalk& walk) {
  if constexpr (kGrouped == 1) {
    const GroupTile found = walk.tile(args);
    return {found.tile, 0, args.stride_b == 0 ? 0 : found.tile.matrix, found.first_row};
  } else {
    const TileCoord tile = walk.tile(args, place);
    if constexpr (kBatched == 0) return {tile, 0, 0, 0};
    return {tile, args.stride_a == 0 ? 0 : tile.matrix, args.stride_b == 0 ? 0 : tile.matrix, 0};
  }
}

__device__ __forceinline__ void load_stage(const TensorMap& map_a, const TensorMap& map_b,
                                           const Place& place, u32 stage, const Source& source,
                                           int k) {
  // The whole warp walks the groups, one lane of it loads.
  if (kGrouped == 1 && threadIdx.x % 32 != 0) return;
  const u32 full = place.full(stage);
  const u32 a = place.stage(stage);
  const u32 b = a + kSlabs * SlabA::kBytes;
  u32 row_mask = 0;  // our row of the cluster shares A, our column B
#pragma unroll
  for (u32 i = 0; i < kClusterN; ++i) row_mask |= 1u << (i * kClusterM);
  const u16 mask_a = static_cast<u16>(row_mask << place.rank_m);
  const u16 mask_b = static_cast<u16>(((1u << kClusterM) - 1) << (place.rank_n * kClusterM));
  mbarrier_arrive_expect(full, kStageBytes);
#pragma unroll
  for (u32 slab = 0; slab < kSlabs; ++slab) {
    const int x = k + static_cast<int>(slab) * kSlabElems;
    SlabA::load(a + slab * SlabA::kBytes, map_a, full, x, source.first_row + source.tile.m * kTileM,
                source.matrix_a, place.rank_n, mask_a);
    SlabB::load(b + slab * SlabB::kBytes, map_b, full, x, source.tile.n * kTileN, source.matrix_b,
                place.rank_m, mask_b);
  }
}

// Asks L2 for the first k tiles of A (warp 0) and B (warp 1), so that after the wait the producer
// finds them there instead of in device memory: see parts/prefetch_rows.cuh. CTAs that share rows
// of A or columns of B share the asking, a k tile each by turns: asking takes as long as loading
// does. A template, so that kernels of groups, whose ends are not known yet, never see its body.
template <class PlainWalk>
__device__ __forceinline__ void prefetch_operands(const TensorMap& map_a, const TensorMap& map_b,
                                                  const GemmArgs& args, const Place& place,
                                                  const PlainWalk& walk) {
  const u32 warp = threadIdx.x / 32;
  if (warp > 1 || threadIdx.x % 32 != 0) return;
  const Slice slice = k_slice(args, place);
  const Source source = source_of(args, place, walk);
  const TileCoord tile = source.tile;
  const int depth = args.prefetch_k_tiles;
  const int last = slice.last - slice.first < depth ? slice.last : slice.first + depth;
  const int turn = warp == 0 ? tile.n / kClusterN : tile.m / kClusterM;
  const int turns = static_cast<int>(warp == 0 ? walk.count_n : walk.count_m);
#pragma unroll 1
  for (int k_tile = slice.first + turn; k_tile < last; k_tile += turns) {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      const int k = k_tile * kTileK + slab * kSlabElems;
      if (warp == 0) {
        SlabA::prefetch(map_a, k, tile.m * kTileM, source.matrix_a, place.rank_n);
      } else {
        SlabB::prefetch(map_b, k, tile.n * kTileN, source.matrix_b, place.rank_m);
      }
    }
  }
}

__device__ __forceinline__ void produce(const TensorMap& map_a, const TensorMap& map_b,
                                        const GemmArgs& args, const Place& place) {
  const Slice slice = k_slice(args, place);
  // Groups' ends may be what the predecessor has found out.
  if constexpr (kGrouped == 1) wait_for_predecessor();
  auto walk = start_walk(args);
  if constexpr (kGrouped == 1) {
    let_successor_start();
    if (!walk.more()) return;
  }
  Source source = source_of(args, place, walk);
  if constexpr (kGrouped == 0) {
    // Never true, but the compiler must find the tile out before the wait instead of after it.
    if (source.tile.m < 0) return;
    wait_for_predecessor();
    let_successor_start();
  }

  Ring ring;
  int k_tile = slice.first;
  // Every stage is free at first.
#pragma unroll 1
  for (; k_tile < slice.last && k_tile < slice.first + kStages; ++k_tile) {
    load_stage(map_a, map_b, place, ring.stage, source, k_tile * kTileK);
    ring.advance();
  }
  while (true) {
#pragma unroll 1
    for (; k_tile < slice.last; ++k_tile) {
      mbarrier_wait(place.empty(ring.stage), ring.parity ^ 1);
      load_stage(map_a, map_b, place, ring.stage, source, k_tile * kTileK);
      ring.advance();
    }
    walk.index += walk.step;
    if (!walk.more()) return;
    source = source_of(args, place, walk);
    k_tile = slice.first;
  }
}

// ---- consumers ---------------------------------------------------------------------------------

// Tells every CTA that writes our stages that this warp has read one of them. In a cluster, lane i
// tells the i-th of them: first our row of the cluster (senders of A), then the rest of our column.
struct Releaser {
  u32 lane;
  u32 peer;

  __device__ __forceinline__ explicit Releaser(const Place& place) {
    lane = threadIdx.x % 32;
    if (lane < kClusterN) {
      peer = place.rank_m + lane * kClusterM;
    } else {
      const u32 other = lane - kClusterN;
      peer = place.rank_n * kClusterM + (other < place.rank_m ? other : other + 1);
    }
  }
  __device__ __forceinline__ void release(u32 empty) const {
    if constexpr (kMulticast) {
      if (lane < kSources) mbarrier_arrive_peer(peer_address(empty, peer));
    } else {
      if (lane == 0) mbarrier_arrive(empty);
    }
  }
};

using Blocks = Accumulator[kRowBlocks][kRegisters];

// One k tile into the accumulators; `fresh`: overwrite them. Leaves one committed group in flight.
__device__ __forceinline__ void multiply_stage(Blocks& blocks, u32 a, u32 b, bool fresh) {
  const u64 descriptor_a = SlabA::descriptor(a);
  const u64 descriptor_b = SlabB::descriptor(b);
#pragma unroll
  for (int i = 0; i < kRowBlocks; ++i) wgmma_pin(blocks[i]);
  wgmma_fence();
#pragma unroll
  for (u32 slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
    for (u32 k = 0; k < kSlabElems / kWgmmaK; ++k) {
#pragma unroll
      for (u32 i = 0; i < kRowBlocks; ++i) {
        const u32 step_a = slab * SlabA::kBytes + i * 64 * kSlabRowBytes + k * SlabA::kStepBytes;
        const u32 step_b = slab * SlabB::kBytes + k * SlabB::kStepBytes;
        const int accumulate = slab == 0 && k == 0 ? !fresh : 1;
        wgmma(blocks[i], descriptor_a + (step_a >> 4), descriptor_b + (step_b >> 4), accumulate);
      }
    }
  }
  wgmma_commit();
#pragma unroll
  for (int i = 0; i < kRowBlocks; ++i) wgmma_pin(blocks[i]);
}

// All of one tile's products but the last group, which is still in flight.
__device__ __forceinline__ void multiply_tile(Blocks& blocks, const Place& place,
                                              const Releaser& releaser, Ring& ring, int k_tiles,
                                              u32 offset_a, u32 offset_b) {
  u32 previous = 0;
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    mbarrier_wait(place.full(ring.stage), ring.parity);
    const u32 stage = place.stage(ring.stage);
    multiply_stage(blocks, stage + offset_a, stage + kSlabs * SlabA::kBytes + offset_b,
                   k_tile == 0);
    wgmma_wait<1>();
    if (k_tile > 0) releaser.release(place.empty(previous));
    previous = ring.stage;
    ring.advance();
  }
}

// The tile a consumer is to store, and the arguments of its product.
template <class Args>
struct Output {
  TileCoord tile;
  Args args;
};

template <class SomeWalk>
__device__ __forceinline__ auto output_of(const GemmArgs& args, const Place& place,
                                          SomeWalk& walk) {
  if constexpr (kGrouped == 1) {
    const GroupTile found = walk.tile(args);
    return Output<GemmArgs>{found.tile, group_args<kOutputType>(args, found)};
  } else {
    const TileCoord tile = walk.tile(args, place);
    using Own = decltype(matrix_args<kBatched == 1, kOutputType>(args, 0));
    return Output<Own>{tile, matrix_args<kBatched == 1, kOutputType>(args, tile.matrix)};
  }
}

__device__ __forceinline__ void consume(const TensorMap& map_d, const GemmArgs& args,
                                        const Place& place, u32 consumer) {
  const Slice slice = k_slice(args, place);
  const int k_tiles = slice.last - slice.first;
  const Releaser releaser(place);
  const u32 row_offset = kSplitRows ? consumer * kRows : 0;
  const u32 column_offset = kSplitColumns ? consumer * kColumns : 0;
  Staging staging{place.shared + kStagingOffset + consumer * kStagingBytes};
  Ring ring;
  auto walk = start_walk(args);

  if constexpr (kPingpong) {
    if (consumer == 1) {
      // Consumer 0 goes first; its first turn is ours to give.
      if (walk.more()) named_barrier_arrive(kTurnBarrier, kConsumerThreads);
      walk.index += walk.step;
      ring.skip(static_cast<u32>(k_tiles));
    }
  }

  while (walk.more()) {
    Blocks blocks;
    if constexpr (kPingpong) named_barrier_sync(kTurnBarrier + consumer, kConsumerThreads);
    multiply_tile(blocks, place, releaser, ring, k_tiles, row_offset * kSlabRowBytes,
                  column_offset * kSlabRowBytes);
    if constexpr (kPingpong) {
      if (walk.more_after_this()) {
        named_barrier_arrive(kTurnBarrier + (consumer ^ 1), kConsumerThreads);
      }
    }
    const auto at = output_of(args, place, walk);
    const TileCoord tile = at.tile;
    const GemmArgs& own = at.args;
    const int row = tile.m * kTileM + static_cast<int>(row_offset);
    const int column = tile.n * kTileN + static_cast<int>(column_offset);
    const auto finish = load_epilogue<kFused == 1, kTranspose == 1>(args);
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < kRowBlocks; ++i) wgmma_pin(blocks[i]);
    if (k_tiles > 0) {
      releaser.release(place.empty(ring.stage == 0 ? kStages - 1 : ring.stage - 1));
    }

    if constexpr (kSplit > 0) {
      if (k_tiles == 0) {
#pragma unroll
        for (int i = 0; i < kRowBlocks; ++i) {
#pragma unroll
          for (int j = 0; j < kRegisters; ++j) blocks[i][j] = 0;
        }
      }
    }
    if constexpr (kSplit == 2) {
      split_through_workspace<kOutputType, kColumns / 8>(
          own, finish, walk.index * kConsumers + consumer, static_cast<int>(place.rank), row,
          column, blocks);
      return;  // its only tile; without this the accumulators would live on beside what is read
    } else if constexpr (kSplit == 1) {
      const Shares shares{kRowBlocks * kColumns / 8, args.split_k,
                          (args.split_reciprocal >> 16) + 1};
      const int rank = static_cast<int>(place.rank);
      const u32 exchange = place.shared + kExchangeOffset + consumer * shares.exchange_bytes();
      cluster_wait();  // the peers have started
      split_send<kColumns / 8>(shares, rank, exchange, blocks);
      cluster_arrive();
      cluster_wait();  // everything has been sent
      split_reduce_and_store<kOutputType, kColumns / 8>(own, finish, shares, rank, row, column,
                                                        exchange);
    } else {
#pragma unroll
      for (int i = 0; i < kRowBlocks; ++i) {
        if constexpr (kStagesD) {
          store_block_tma<kOutputType, kColumns, kDimensions>(
              own, map_d, finish, row + 64 * i, column, tile.matrix, staging,
              kStagingBarrier + consumer, blocks[i]);
        } else {
          store_block_rows<kOutputType, kColumns>(own, finish, row + 64 * i, column,
                                                  staging.address, blocks[i]);
        }
      }
    }

    walk.index += walk.step;
    if constexpr (kPingpong) {
      walk.index += walk.step;
      ring.skip(static_cast<u32>(k_tiles));
    }
  }
  if constexpr (kStagesD) store_tma_drain();
}

// ---- the kernel --------------------------------------------------------------------------------

__device__ __forceinline__ void init_barriers(const Place& place) {
  constexpr u32 kReleases = (kPingpong ? 1 : kConsumers) * 4 * kSources;  // one a warp a source
  // One lane: lanes with addresses of their own are served one after the other anyway.
#pragma unroll
  for (u32 stage = 0; stage < kStages; ++stage) {
    mbarrier_init(place.full(stage), 1);
    mbarrier_init(place.empty(stage), kReleases);
  }
  fence_mbarrier_init();
}

}  // namespace gemmsmith_kernels

extern "C" __global__ void __launch_bounds__(gemmsmith_kernels::kThreads, 1)
    gemm(const __grid_constant__ gemmsmith_kernels::TensorMap map_a,
         const __grid_constant__ gemmsmith_kernels::TensorMap map_b,
         const __grid_constant__ gemmsmith_kernels::TensorMap map_d,
         const __grid_constant__ gemmsmith_kernels::GemmArgs args) {
  using namespace gemmsmith_kernels;
  // 1024: the swizzle repeats every 8 rows of 128 bytes. Nothing else lies in shared memory.
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 warp = uniform(threadIdx.x / 32);
  const u32 rank = kSplit == 2 ? blockIdx.y : kMulticast || kSplit == 1 ? cluster_rank() : 0;
  const Place place{shared_address(shared), rank, kMulticast ? rank % kClusterM : 0,
                    kMulticast ? rank / kClusterM : 0};
  const bool produces = warp == kProducerWarp;

  if (produces) {
    if (threadIdx.x % 32 == 0) init_barriers(place);
    __syncwarp();
  } else if (threadIdx.x == 0) {  // a consumer, who has time
    tma_prefetch_map(map_a);
    tma_prefetch_map(map_b);
    if constexpr (kStagesD) tma_prefetch_map(map_d);
  }
  // Without multicast the producer need not wait for anyone to start loading.
  if constexpr (kMulticast || kSplit == 1) cluster_arrive_relaxed();
  if constexpr (kMulticast) cluster_wait();
  if constexpr (!kMulticast) {
    if (produces) {
      named_barrier_arrive(kStartBarrier, kConsumerThreads + 32);
    } else if (warp < kProducerWarp) {
      named_barrier_sync(kStartBarrier, kConsumerThreads + 32);
    }
  }

  if (warp >= kProducerWarp) {
    if constexpr (kMovesRegisters) shrink_registers<kProducerRegisters>();
    if (produces && (kGrouped == 1 || threadIdx.x % 32 == 0)) {
      produce(map_a, map_b, args, place);
    }
    __syncwarp();
    if constexpr (kSplit == 1) {  // the cluster's barrier counts every thread: see consume()
      cluster_wait();
      cluster_arrive();
      cluster_wait();
    }
  } else {
    if constexpr (kMovesRegisters) grow_registers<kConsumerRegisters>();
    if constexpr (kGrouped == 0) {
      if (args.prefetch_k_tiles > 0)
        prefetch_operands(map_a, map_b, args, place, start_plain_walk(args));
    }
    wait_for_predecessor();
    let_successor_start();
    consume(map_d, args, place, kConsumers == 1 ? 0 : warp / 4);
  }

  // A peer may still be about to release a stage of ours; shared memory must be there for it.
  if constexpr (kMulticast) {
    cluster_arrive();
    cluster_wait();
  }
}
