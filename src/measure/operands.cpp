#include "measure/operands.h"

#include <algorithm>

#include "base/numbers.h"

namespace gemmsmith {
namespace {

// cuMemAlloc's own alignment, and what an operand is given unless its problem promises less.
constexpr std::int64_t kBaseAlignment = 256;
// Between timing sets; the verifier's bands are wider.
constexpr std::int64_t kTimingBandBytes = 1024;

}  // namespace

Region place(const MatrixShape& shape, int alignment, std::int64_t at, std::int64_t band_bytes) {
  const std::int64_t element_bytes = shape.element_bytes;
  Region region;
  region.band_start = round_up(at, kBaseAlignment);
  region.start = region.band_start + round_up(band_bytes, kBaseAlignment);
  if (alignment < kBaseAlignment) region.start += alignment;
  region.end = region.start + shape.extent() * element_bytes;
  region.band_end = region.end + round_up(band_bytes, element_bytes);
  return region;
}

plan::Operands OperandLayout::at(void* base, std::int64_t set) const {
  char* const start = static_cast<char*>(base) + set * stride;
  return {start + a.start, start + b.start, has_c ? start + c.start : nullptr, start + d.start};
}

OperandLayout timing_layout(const Problem& problem, std::int64_t l2_bytes) {
  OperandLayout layout;
  layout.a = place(stored_a(problem), problem.alignment.a, 0, kTimingBandBytes);
  layout.b = place(stored_b(problem), problem.alignment.b, layout.a.band_end, kTimingBandBytes);
  std::int64_t end = layout.b.band_end;
  if (problem.beta != 0) {
    layout.has_c = true;
    layout.c = place(stored_c(problem), problem.alignment.c, end, kTimingBandBytes);
    end = layout.c.band_end;
  }
  layout.d = place(stored_d(problem), problem.alignment.d, end, kTimingBandBytes);
  layout.stride = round_up(layout.d.band_end, kBaseAlignment);
  // The bytes that a launch touches count, not bands and padding.
  const auto touched = static_cast<std::int64_t>(problem.min_bytes());
  layout.sets_to_cover = 2 * l2_bytes / std::max<std::int64_t>(touched, 1) + 1;
  layout.sets = std::min(layout.sets_to_cover, kMaxOperandSets);
  return layout;
}

CacheState cache_state(const Problem& problem, std::int64_t l2_bytes, std::int64_t sets) {
  const double rotated = problem.min_bytes() * static_cast<double>(sets);
  return rotated > 2.0 * static_cast<double>(l2_bytes) ? CacheState::kCold : CacheState::kHot;
}

}  // namespace gemmsmith
