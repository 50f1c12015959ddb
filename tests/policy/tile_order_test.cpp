// The host's tile order against the kernels' own text, compiled here with stand-ins for what NVRTC
// brings along.
#include "policy/tile_order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

// Names that the kernels' text takes from the compiler for the device.
#define __device__
#define __host__
#define __forceinline__ inline
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// Clang checks the constraints of the device's instructions even where they are not used.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define asm(...)
#include "parts/tile_order.cuh"
#undef asm

namespace gemmsmith::policy {
namespace {

gemmsmith_kernels::GemmArgs args_of(const TileOrder& order) {
  using gemmsmith_kernels::reciprocal;
  gemmsmith_kernels::GemmArgs args = {};
  const auto minor = static_cast<unsigned>(order.along_n ? order.count_n : order.count_m);
  const auto major = static_cast<unsigned>(order.along_n ? order.count_m : order.count_n);
  const unsigned group = std::min(static_cast<unsigned>(order.group), minor);
  args.group = static_cast<int>(group);
  args.raster = order.along_n ? gemmsmith_kernels::kRasterAlongN : gemmsmith_kernels::kRasterAlongM;
  args.band_reciprocal = reciprocal(group * major);
  args.width_reciprocal = reciprocal(group);
  args.last_width_reciprocal = reciprocal(minor % group == 0 ? group : minor % group);
  return args;
}

RC_GTEST_PROP(TileOrder, IsTheKernels, ()) {
  const TileOrder order{*rc::gen::inRange(1, 70), *rc::gen::inRange(1, 70),
                        *rc::gen::inRange(1, 40), *rc::gen::arbitrary<bool>()};
  const gemmsmith_kernels::GemmArgs args = args_of(order);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::int64_t index = 0; index < order.count_m * order.count_n; ++index) {
    const TilePlace place = tile_at(order, index);
    const gemmsmith_kernels::TileCoord coord = gemmsmith_kernels::tile_at(
        args, static_cast<unsigned>(index), static_cast<unsigned>(order.count_m),
        static_cast<unsigned>(order.count_n));
    RC_ASSERT((place == TilePlace{coord.m, coord.n}));
    RC_ASSERT(seen.emplace(place.m, place.n).second);
    RC_ASSERT(place.m < order.count_m && place.n < order.count_n);
  }
}

}  // namespace
}  // namespace gemmsmith::policy
