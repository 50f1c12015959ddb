// store_tma.cuh -- from registers to D through shared memory and TMA.
//
// A warpgroup writes 64 rows x up to 64 columns (32 of f32) at a time into a staging buffer
// (stmatrix; f32: stage_floats.cuh), one of its threads hands that buffer to TMA, and the warpgroup
// goes on with the other buffer, or with the next tile's products, while the store drains. TMA
// clips at D's edges, but along a row only to whole 16 bytes (measured on H200), so n must be a
// multiple of 8, or 4 of f32.
//
//   registers --stmatrix--> buffer 0 --TMA--> D columns 0..63      each buffer: boxes of 64 rows x
//             --stmatrix--> buffer 1 --TMA--> D columns 64..127    kBoxColumns, swizzled over the
//             --stmatrix--> buffer 0 (once read) ...               box's row so that no banks clash
//
// The sums of a transposed product (stage_transposed.cuh) go in boxes of kBoxColumns rows of D x 64
// columns.
#pragma once

#include "parts/args.cuh"
#include "parts/stage_floats.cuh"
#include "parts/stage_groups.cuh"
#include "parts/stage_transposed.cuh"
#include "parts/stmatrix.cuh"
#include "parts/sync.cuh"
#include "parts/tma.cuh"
#include "parts/types.cuh"
#include "parts/wgmma_fragment.cuh"

namespace gemmsmith_kernels {

// Columns of a staging buffer's row of 128 bytes.
template <int kElement>
__host__ __device__ constexpr int store_row_columns() {
  return 128 / static_cast<int>(sizeof(Storage<kElement>));
}

// The widest box (up to one 128-byte row) that divides a warpgroup's columns; the swizzle mode of
// D's tensor map spans exactly one row of it: 128, 64, 32 bytes, or none for 16.
template <int kElement>
__host__ __device__ constexpr int store_box_columns(int columns) {
  int box = store_row_columns<kElement>();
  while (columns % box != 0) box /= 2;
  return box;
}

template <int kElement>
__host__ __device__ constexpr int store_buffer_columns(int columns) {
  return columns < store_row_columns<kElement>() ? columns : store_row_columns<kElement>();
}

template <int kElement>
__host__ __device__ constexpr int store_buffers(int columns) {
  return columns > store_row_columns<kElement>() ? 2 : 1;
}

// Bytes of staging one warpgroup needs for blocks of `columns` columns.
template <int kElement>
__host__ __device__ constexpr int store_staging_bytes(int columns) {
  return store_buffers<kElement>(columns) * store_buffer_columns<kElement>(columns) * 64 *
         static_cast<int>(sizeof(Storage<kElement>));
}

// A warpgroup's staging buffers. They are used strictly in turn, also from one block or tile to the
// next: waiting for all stores but the newest then always frees the buffer that comes.
struct Staging {
  u32 address;
  u32 offset = 0;  // of the next buffer
};

// Columns `first` .. of a block, as many as a buffer holds, into the buffer's boxes.
template <int kElement, int kColumns, class Accumulator, int kCount>
__device__ __forceinline__ void stage_columns(u32 buffer, u32 warp, u32 lane, int first,
                                              const Accumulator (&block)[kCount]) {
  constexpr int kBoxColumns = store_box_columns<kElement>(kColumns);
  constexpr int kBufferColumns = store_buffer_columns<kElement>(kColumns);
  constexpr int kRowBytes = kBoxColumns * static_cast<int>(sizeof(Storage<kElement>));
  constexpr int kBoxBytes = 64 * kRowBytes;
  if constexpr (kElement == kElementF32) {
#pragma unroll
    for (int box = 0; box < kBufferColumns / kBoxColumns; ++box) {
      // Conditions instead of a shorter loop: the trip count must be a constant to be unrolled.
      if (first + box * kBoxColumns >= kColumns) continue;
      stage_floats<kBoxColumns>(buffer + static_cast<u32>(box * kBoxBytes) + warp * 16 * kRowBytes,
                                lane, block, (first + box * kBoxColumns) / 8);
    }
  } else {
    constexpr u32 kGroupsPerBox = kBoxColumns / 8;
    // stmatrix: which row of the block, and which of two neighbouring groups, this lane addresses.
    const u32 address_row = 16 * warp + lane % 16;
    const u32 address_group = lane / 16;
    for_each_group_pair<kElement, kBufferColumns, kColumns>(
        first, block, [&](u32 group, bool paired, const u32(&pairs)[2][2]) {
          const u32 my_group = group + (paired ? address_group : 0u);
          const u32 address = buffer + my_group / kGroupsPerBox * kBoxBytes +
                              swizzled_offset<kRowBytes>(address_row, my_group % kGroupsPerBox);
          if (paired) {
            stmatrix_x4(address, pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]);
          } else {
            stmatrix_x2(address, pairs[0][0], pairs[0][1]);
          }
        });
  }
}

// A warpgroup's 64 x kColumns block whose first element is D[row][column] (of a transposed product:
// D[column][row]) of the `matrix`-th D of the batch, which `args` are of. kDimensions of D's map:
// parts/tma.cuh. `staging` is this warpgroup's; `barrier_id` a named barrier of its 128 threads.
// Stores are committed, not awaited.
template <int kElement, int kColumns, int kDimensions, class Finish, class Accumulator, int kCount>
__device__ __forceinline__ void store_block_tma(const GemmArgs& args, const TensorMap& map_d,
                                                Finish finish, int row, int column, int matrix,
                                                Staging& staging, u32 barrier_id,
                                                Accumulator (&block)[kCount]) {
  constexpr int kBoxColumns = store_box_columns<kElement>(kColumns);
  constexpr int kBufferColumns = store_buffer_columns<kElement>(kColumns);
  constexpr int kBuffers = store_buffers<kElement>(kColumns);
  constexpr int kRowBytes = kBoxColumns * static_cast<int>(sizeof(Storage<kElement>));
  constexpr int kBoxBytes = 64 * kRowBytes;

  const u32 thread = threadIdx.x % 128;
  const u32 lane = thread % 32;
  const u32 warp = thread / 32;
  const int fragment_row = row + static_cast<int>(16 * warp + lane / 4);
  const int fragment_column = column + static_cast<int>(2 * (lane % 4));

#pragma unroll
  for (int first = 0; first < kColumns; first += kBufferColumns) {
    finish_groups<kElement, kBufferColumns / 8, kColumns / 8>(args, finish, fragment_row,
                                                              fragment_column, first / 8, block);
    const u32 buffer = staging.address + staging.offset;
    if constexpr (kBuffers == 2) {
      staging.offset = store_staging_bytes<kElement>(kColumns) / 2 - staging.offset;
    }
    if (thread == 0) tma_store_wait_read<kBuffers - 1>();
    named_barrier_sync(barrier_id, 128);
    if constexpr (Finish::kIsTransposed) {
      stage_columns_transposed<kElement, kBufferColumns, kColumns>(buffer, warp, lane, first,
                                                                   block);
    } else {
      stage_columns<kElement, kColumns>(buffer, warp, lane, first, block);
    }
    fence_before_tma_store();
    named_barrier_sync(barrier_id, 128);
    if (thread == 0) {
#pragma unroll
      for (int box = 0; box < kBufferColumns / kBoxColumns; ++box) {
        if (first + box * kBoxColumns >= kColumns) continue;
        const int box_column = column + first + box * kBoxColumns;
        tma_store<kDimensions>(map_d, buffer + static_cast<u32>(box * kBoxBytes),
                               Finish::kIsTransposed ? row : box_column,
                               Finish::kIsTransposed ? box_column : row, matrix);
      }
      tma_store_commit();
    }
  }
}

// Before the warpgroup ends: shared memory must outlive the reads of its stores.
__device__ __forceinline__ void store_tma_drain() {
  if (threadIdx.x % 128 == 0) tma_store_wait_read<0>();
}

}  // namespace gemmsmith_kernels
