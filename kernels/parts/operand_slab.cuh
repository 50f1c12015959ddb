// operand_slab.cuh -- how an operand of wgmma lies in shared memory, for both ways it can lie in
// global memory.
//
// A slab holds kTile rows (of A, or columns of B) times 64 of k, in boxes as TMA writes them:
//
//   k contiguous     one box: kTile rows of 128 bytes of k, 128-byte swizzle
//   else             boxes of kBlock rows each, side by side: 64 lines, one an element of k, of
//                    kBlock rows; the swizzle spans one line: 128, 64 or 32 bytes
//
//     k contiguous            else, kBlock = 64
//     row 0:  k0 ... k63      k0:   r0 ... r63 | r64 ... r127
//     row 1:  k0 ... k63      k1:   r0 ... r63 | r64 ... r127
//     ...                     ...   box 0      | box 1
//
// Both take 128 bytes a row, so row r (a multiple of kBlock, or of 8 where k is contiguous) starts
// at byte 128 * r of the slab in either form. Descriptor fields: PTX ISA, "Shared memory matrix
// layout".
#pragma once

#include "parts/args.cuh"
#include "parts/tma.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

constexpr int kSlabElems = 64;  // of k
constexpr int kSlabRowBytes = 128;
constexpr int kWgmmaK = 16;  // k of one instruction for 16-bit elements

// The widest box of 64, 32 or 16 rows that divides a tile.
__host__ __device__ constexpr int slab_block(int tile) {
  return tile % 64 == 0 ? 64 : tile % 32 == 0 ? 32 : 16;
}

// `kSharers` CTAs of a cluster want the same rows; each loads a part of every slab for all of them.
// `kDimensions` of the tensor map: 3 where the operand is one of a batch (parts/tma.cuh).
template <bool kAlongK, int kTile, int kSharers, int kDimensions>
struct OperandSlab {
  static constexpr u32 kBytes = kTile * kSlabRowBytes;
  static constexpr int kBlock = kAlongK ? kTile : slab_block(kTile);
  static constexpr int kLineBytes = kBlock * 2;  // of a box that is not k-contiguous
  // From one instruction's k to the next's.
  static constexpr u32 kStepBytes = kAlongK ? kWgmmaK * 2 : kWgmmaK * kLineBytes;

  static_assert(kAlongK || kTile % 16 == 0, "a line is not whole 32-byte swizzle spans");
  static_assert(!kAlongK || kTile / kSharers % 8 == 0,
                "a multicast part is not whole swizzle groups of 8 rows");
  static_assert(kSlabElems / kSharers % 8 == 0, "a multicast part is not whole groups of 8 lines");

  // The descriptor of the operand at a shared address inside a slab. Its low word counts 16 bytes.
  __device__ __forceinline__ static u64 descriptor(u32 address) {
    // Eight rows (or lines of k) further, and from one box to the next; 1 where it is ignored.
    constexpr u64 kStride = (kAlongK ? 8 * kSlabRowBytes : 8 * kLineBytes) >> 4;
    constexpr u64 kLeading = kAlongK ? 1 : (kSlabElems * kLineBytes) >> 4;
    constexpr u64 kSwizzle = kAlongK || kLineBytes == 128 ? 1 : kLineBytes == 64 ? 2 : 3;
    return kSwizzle << 62 | kStride << 32 | kLeading << 16 |
           static_cast<u64>((address & 0x3ffffu) >> 4);
  }

  // Starts our part of the slab of the `matrix`-th operand of the batch, with k from `k` on and
  // rows from `row` on. `part` is our place among the sharers, `mask` has the bits of all of them
  // in the cluster. One thread; the bytes are reported to `full`, here and at the same offset of
  // every sharer.
  __device__ __forceinline__ static void load(u32 slab, const TensorMap& map, u32 full, int k,
                                              int row, int matrix, u32 part, u16 mask) {
    for_each_box(k, row, part, [&](u32 offset, int x, int y) {
      if constexpr (kSharers > 1) {
        tma_load_multicast<kDimensions>(slab + offset, map, full, x, y, matrix, mask);
      } else {
        tma_load<kDimensions>(slab + offset, map, full, x, y, matrix);
      }
    });
  }

  // Asks L2 for what load() will read. One thread.
  __device__ __forceinline__ static void prefetch(const TensorMap& map, int k, int row, int matrix,
                                                  u32 part) {
    for_each_box(k, row, part,
                 [&](u32, int x, int y) { tma_prefetch<kDimensions>(map, x, y, matrix); });
  }

 private:
  // Calls use(offset in the slab, x, y) for each box of our part.
  template <typename Use>
  __device__ __forceinline__ static void for_each_box(int k, int row, u32 part, Use use) {
    if constexpr (kAlongK) {
      constexpr int kPart = kTile / kSharers;
      use(part * kPart * kSlabRowBytes, k, row + static_cast<int>(part) * kPart);
    } else {
      constexpr int kPart = kSlabElems / kSharers;
      // Unrolled, more boxes than four are more addresses than a producer that gave its registers
      // away can hold.
      constexpr int kBoxes = kTile / kBlock;
      constexpr int kUnroll = kBoxes <= 4 ? kBoxes : 1;
#pragma unroll kUnroll
      for (int block = 0; block < kBoxes; ++block) {
        use(static_cast<u32>(block * kSlabElems * kLineBytes) + part * kPart * kLineBytes,
            row + block * kBlock, k + static_cast<int>(part) * kPart);
      }
    }
  }
};

}  // namespace gemmsmith_kernels
