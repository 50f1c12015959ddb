// pack.cu -- copies operands whose lines TMA and 16-byte cp.async cannot read, because their base
// or leading dimension is no multiple of 16 bytes, to where they can; the GEMM kernel that follows
// on the stream reads the copies. Both operands in one launch.
//
//   from:  line 0 |e0 e1 ... |line 1 ...    lines start at any element
//   to:    line 0 |c0: e0..e7 | c1 | ... |  lines start at 16 bytes; a thread copies chunks
//
// A line may start at an odd element: then its 4-byte words straddle those of the copy, and each
// chunk is put together from three whole words and an element at either end. Nothing outside of the
// operand's own columns is read; the last chunk of a line is filled up with zeros.
//
// Works for f16 and bf16 alike: no element is looked at.
#include "parts/pack_args.cuh"
#include "parts/pdl.cuh"
#include "parts/tile_order.cuh"
#include "parts/types.cuh"

namespace {

using namespace gemmsmith_kernels;

constexpr int kWords = kPackElements / 2;

struct Chunk {
  u32 words[kWords];
};

// What a chunk is made of, before it is put together: loads apart from what depends on them, so
// that a batch of them is in flight at once.
struct Pieces {
  u32 words[kWords];  // from the first even element on; only three when `odd`
  u32 head;           // the first element, and the last, when `odd`
  u32 tail;
  bool odd;
};

__device__ __forceinline__ Pieces read_whole(const u16* from) {
  Pieces pieces;
  pieces.odd = (reinterpret_cast<u64>(from) & 2) != 0;
  const u32* words = reinterpret_cast<const u32*>(from + (pieces.odd ? 1 : 0));
#pragma unroll
  for (int i = 0; i < kWords - 1; ++i) pieces.words[i] = words[i];
  if (pieces.odd) {
    pieces.head = from[0];
    pieces.tail = from[kPackElements - 1];
  } else {
    pieces.words[kWords - 1] = words[kWords - 1];
  }
  return pieces;
}

__device__ __forceinline__ Chunk assemble(const Pieces& pieces) {
  Chunk chunk;
  if (!pieces.odd) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) chunk.words[i] = pieces.words[i];
    return chunk;
  }
  u32 below = pieces.head << 16;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const u32 above = i + 1 < kWords ? pieces.words[i] : pieces.tail;
    chunk.words[i] = __funnelshift_l(below, above, 16);
    below = above;
  }
  return chunk;
}

// The last chunk of a line whose columns are no whole chunks.
__device__ __forceinline__ Chunk read_part(const u16* from, int count) {
  Chunk chunk = {};
#pragma unroll
  for (int i = 0; i < kPackElements; ++i) {
    const u32 element = i < count ? from[i] : 0u;
    chunk.words[i / 2] |= element << (i % 2 * 16);
  }
  return chunk;
}

struct Place {
  const u16* from;
  u16* to;
  int count;  // elements of the line from here on; 0: nothing to do
};

__device__ __forceinline__ Place place_of(const PackOperand& operand, u32 chunk) {
  if (chunk >= operand.chunks) return {nullptr, nullptr, 0};
  const Quotient line = divide(chunk, operand.chunks_per_line, operand.chunks_reciprocal);
  const int column = static_cast<int>(line.rest) * kPackElements;
  return {static_cast<const u16*>(operand.from) + line.value * operand.ld_from + column,
          static_cast<u16*>(operand.to) + line.value * operand.ld_to + column,
          operand.columns - column};
}

__device__ __forceinline__ void write(u16* to, const Chunk& chunk) {
  *reinterpret_cast<uint4*>(to) =
      make_uint4(chunk.words[0], chunk.words[1], chunk.words[2], chunk.words[3]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(gemmsmith_kernels::kPackThreads)
    pack(const __grid_constant__ gemmsmith_kernels::PackArgs args) {
  // The GEMM's CTAs come up meanwhile; they wait for all of this before their first load.
  wait_for_predecessor();
  let_successor_start();
  const PackOperand& operand = args.operands[blockIdx.y];
  const u32 step = gridDim.x * kPackThreads;
  for (u32 first = blockIdx.x * kPackThreads + threadIdx.x; first < operand.chunks;
       first += kPackBatch * step) {
    Place places[kPackBatch];
    Pieces pieces[kPackBatch];
#pragma unroll
    for (int i = 0; i < kPackBatch; ++i) {
      places[i] = place_of(operand, first + static_cast<u32>(i) * step);
      if (places[i].count >= kPackElements) pieces[i] = read_whole(places[i].from);
    }
#pragma unroll
    for (int i = 0; i < kPackBatch; ++i) {
      if (places[i].count >= kPackElements) {
        write(places[i].to, assemble(pieces[i]));
      } else if (places[i].count > 0) {
        write(places[i].to, read_part(places[i].from, places[i].count));
      }
    }
  }
}
