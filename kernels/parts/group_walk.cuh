// group_walk.cuh -- the tiles of a grouped product: groups of rows of A and D that share n and k,
// each with a B of its own (a mixture of experts). How many rows a group has is known on the device
// only: args.group_ends[g] is where its rows end and the next group's begin.
//
// CTAs walk the tiles of all groups by the grid's stride. A warp looks at 32 groups at once: lane i
// holds the i-th one's rows and how many tiles there are through it, so finding a tile's group is
// one ballot; and since a walk only goes forward, each end is read twice a CTA, once to count all
// tiles.
//
//   group_ends   5 | 5 | 200 | 330          tile_m = 128, 3 tiles along n
//   tiles        3 | 0 |   6 |   6          through:  3  3  9  15
//
// Ends that run backwards or beyond m are taken to be as far as they can go: such a group has no
// rows, or fewer. Every lane of the warp calls.
#pragma once

#include "parts/args.cuh"
#include "parts/tile_order.cuh"
#include "parts/types.cuh"

namespace gemmsmith_kernels {

struct GroupTile {
  TileCoord tile;  // of the group, which is its matrix
  int first_row;   // the group's, of A and D
  int rows;
};

template <int kTileM>
class GroupWalk {
 public:
  __device__ __forceinline__ explicit GroupWalk(const GemmArgs& args)
      : index(blockIdx.x), step(gridDim.x) {
#pragma unroll 1
    for (u32 first = 0; first < static_cast<u32>(args.batch); first += 32) {
      look_at(args, first);
      count_ += __shfl_sync(kWholeWarp, through_, 31);
    }
    look_at(args, 0);
  }

  __device__ __forceinline__ bool more() const { return index < count_; }
  __device__ __forceinline__ bool more_after_this() const { return index + step < count_; }

  // The tile at `index`, of which there must be one.
  __device__ __forceinline__ GroupTile tile(const GemmArgs& args) {
    u32 those = __shfl_sync(kWholeWarp, through_, 31);
    while (index - before_ >= those) {
      before_ += those;
      look_at(args, first_ + 32);
      those = __shfl_sync(kWholeWarp, through_, 31);
    }
    const u32 within = index - before_;
    const int lane = __ffs(static_cast<int>(__ballot_sync(kWholeWarp, through_ > within))) - 1;
    GroupTile found;
    found.first_row = __shfl_sync(kWholeWarp, first_row_, lane);
    found.rows = __shfl_sync(kWholeWarp, rows_, lane);
    const u32 tiles_n = static_cast<u32>(args.tiles_n);
    const u32 tiles_m = static_cast<u32>(ceil_div(found.rows, kTileM));
    const u32 rest = within - (__shfl_sync(kWholeWarp, through_, lane) - tiles_m * tiles_n);
    // Bands of args.group tiles along m; along them n is the slow direction.
    const u32 group = static_cast<u32>(args.group);
    const u32 band = rest / (group * tiles_n);
    const u32 in_band = rest - band * group * tiles_n;
    const u32 left = tiles_m - band * group;
    const u32 width = left < group ? left : group;
    const u32 n = in_band / width;
    found.tile = {static_cast<int>(band * group + in_band - n * width), static_cast<int>(n),
                  static_cast<int>(first_) + lane};
    return found;
  }

  u32 index;  // of the tile, over all groups
  u32 step;

 private:
  static constexpr u32 kWholeWarp = 0xffffffffu;

  __device__ __forceinline__ static int end_of(const GemmArgs& args, int group) {
    const int end = group < 0 ? 0 : args.group_ends[group];
    return end < 0 ? 0 : end < args.m ? end : args.m;
  }

  // This lane's of the groups from `first` on.
  __device__ __forceinline__ void look_at(const GemmArgs& args, u32 first) {
    first_ = first;
    const u32 lane = threadIdx.x % 32;
    const int group = static_cast<int>(first + lane);
    first_row_ = 0;
    rows_ = 0;
    if (group < args.batch) {
      first_row_ = end_of(args, group - 1);
      const int end = end_of(args, group);
      rows_ = end > first_row_ ? end - first_row_ : 0;
    }
    through_ = static_cast<u32>(ceil_div(rows_, kTileM)) * static_cast<u32>(args.tiles_n);
#pragma unroll
    for (u32 reach = 1; reach < 32; reach *= 2) {
      const u32 lower = __shfl_up_sync(kWholeWarp, through_, reach);
      if (lane >= reach) through_ += lower;
    }
  }

  u32 count_ = 0;   // tiles of all groups
  u32 before_ = 0;  // tiles of the groups before first_
  u32 first_ = 0;
  u32 through_ = 0;
  int first_row_ = 0;
  int rows_ = 0;
};

// The arguments of one group's product, as far as its epilogue looks at them.
template <int kOutput>
__device__ __forceinline__ GemmArgs group_args(const GemmArgs& args, const GroupTile& at) {
  GemmArgs own = args;
  own.c = static_cast<const Storage<kOutput>*>(args.c) + at.first_row * args.ldc;
  own.d = static_cast<Storage<kOutput>*>(args.d) + at.first_row * args.ldd;
  own.m = at.rows;
  return own;
}

}  // namespace gemmsmith_kernels
