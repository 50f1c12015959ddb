#include "space/packing.h"

#include "base/numbers.h"

namespace gemmsmith {
namespace {

constexpr int kLoadBytes = 16;
constexpr int kCacheLineBytes = 128;
constexpr int kElementBytes = 2;

bool starts_rows_on(const MatrixShape& operand, int alignment, int bytes) {
  return (operand.rows <= 1 || operand.ld * operand.element_bytes % bytes == 0) &&
         (operand.batch <= 1 || operand.stride * operand.element_bytes % bytes == 0) &&
         alignment % bytes == 0;
}

}  // namespace

bool is_readable(const MatrixShape& operand, int alignment) {
  return starts_rows_on(operand, alignment, kLoadBytes);
}

bool has_whole_cache_lines(const MatrixShape& operand, int alignment) {
  return starts_rows_on(operand, alignment, kCacheLineBytes);
}

int needed_pack(const Problem& problem) {
  return (is_readable(stored_a(problem), problem.alignment.a) ? 0 : kPackA) |
         (is_readable(stored_b(problem), problem.alignment.b) ? 0 : kPackB);
}

int useful_pack(const Problem& problem) {
  return (has_whole_cache_lines(stored_a(problem), problem.alignment.a) ? 0 : kPackA) |
         (has_whole_cache_lines(stored_b(problem), problem.alignment.b) ? 0 : kPackB);
}

MatrixShape packed(const MatrixShape& operand) {
  return {operand.rows, operand.cols, round_up(operand.cols, kCacheLineBytes / kElementBytes)};
}

std::int64_t packed_bytes(const Problem& problem, int pack) {
  const auto bytes = [](const MatrixShape& operand) {
    return operand.rows * packed(operand).ld * kElementBytes;
  };
  return ((pack & kPackA) != 0 ? bytes(stored_a(problem)) : 0) +
         ((pack & kPackB) != 0 ? bytes(stored_b(problem)) : 0);
}

}  // namespace gemmsmith
