// tile_order.cuh -- in which order the tiles of D are computed.
//
// Tiles that run at the same time should share rows of A and columns of B, or L2 is swept again and
// again. Tiles are therefore walked in bands: `group` tiles of the minor dimension side by side,
// then one step along the major dimension; at a band's end the next one is walked back the other
// way (serpentine), so that what the turn shares is still in L2.
//
//   raster = along m, group = 2        major: n ->
//                              minor:   0  2  4
//                                m |    1  3  5
//                                  v   10  8  6
//                                      11  9  7
//
// With clusters the unit of this order is the cluster: pass the counts of clusters, then place the
// CTA inside its cluster's block of tiles. The matrices of a batch follow each other.
#pragma once

#include "parts/args.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

struct TileCoord {
  int m;  // index of the tile (or cluster of tiles), not of the row
  int n;
  int matrix;  // of the batch
};

struct Quotient {
  u32 value;
  u32 rest;
};

// dividend / divisor, given reciprocal(divisor): the high product is the quotient or one less. Each
// division by an unknown number would put 0.1 us before a CTA's first load (measured on H200).
__device__ __forceinline__ Quotient divide(u32 dividend, u32 divisor, u32 reciprocal) {
  Quotient quotient;
  quotient.value = __umulhi(dividend, reciprocal);
  quotient.rest = dividend - quotient.value * divisor;
  if (quotient.rest >= divisor) {
    ++quotient.value;
    quotient.rest -= divisor;
  }
  return quotient;
}

// The `index`-th tile of count_m x count_n, 0 <= index < count_m * count_n.
__device__ __forceinline__ TileCoord tile_at(const GemmArgs& args, u32 index, u32 count_m,
                                             u32 count_n) {
  const u32 group = static_cast<u32>(args.group);
  const bool along_m = args.raster == kRasterAlongM;
  const u32 minor_count = along_m ? count_m : count_n;
  const u32 major_count = along_m ? count_n : count_m;
  const Quotient band = divide(index, group * major_count, args.band_reciprocal);
  const u32 first = band.value * group;
  const u32 left = minor_count - first;
  const bool last = left < group;
  const Quotient step = divide(band.rest, last ? left : group,
                               last ? args.last_width_reciprocal : args.width_reciprocal);
  const u32 minor = first + step.rest;
  const u32 major = (band.value & 1u) != 0 ? major_count - 1 - step.value : step.value;
  const u32 tile_m = along_m ? minor : major;
  const u32 tile_n = along_m ? major : minor;
  return {static_cast<int>(tile_m), static_cast<int>(tile_n), 0};
}

// How many a kernel walks, and the `index`-th of them. Without kBatched the batch costs nothing.
template <bool kBatched>
__device__ __forceinline__ u32 tile_count(const GemmArgs& args, u32 count_m, u32 count_n) {
  return count_m * count_n * (kBatched ? static_cast<u32>(args.batch) : 1u);
}

template <bool kBatched>
__device__ __forceinline__ TileCoord tile_of_batch(const GemmArgs& args, u32 index, u32 count_m,
                                                   u32 count_n) {
  if constexpr (kBatched) {
    const Quotient matrix = divide(index, count_m * count_n, args.matrix_reciprocal);
    TileCoord tile = tile_at(args, matrix.rest, count_m, count_n);
    tile.matrix = static_cast<int>(matrix.value);
    return tile;
  } else {
    return tile_at(args, index, count_m, count_n);
  }
}

// The arguments of one matrix's product. A and B's elements have 2 bytes.
template <bool kBatched, int kOutput>
__device__ __forceinline__ decltype(auto) matrix_args(const GemmArgs& args, int matrix) {
  if constexpr (kBatched) {
    GemmArgs own = args;
    own.a = static_cast<const u16*>(args.a) + matrix * args.stride_a;
    own.b = static_cast<const u16*>(args.b) + matrix * args.stride_b;
    own.c = static_cast<const Storage<kOutput>*>(args.c) + matrix * args.stride_c;
    own.d = static_cast<Storage<kOutput>*>(args.d) + matrix * args.stride_d;
    return own;
  } else {
    return (args);
  }
}

}  // namespace gemmsmith_kernels
