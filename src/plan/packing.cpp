#include "plan/packing.h"

#include <algorithm>

#include "base/numbers.h"
#include "kernels/parts/args.cuh"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

using gemmsmith_kernels::kPackBatch;
using gemmsmith_kernels::kPackElements;
using gemmsmith_kernels::kPackThreads;
using gemmsmith_kernels::PackOperand;

constexpr int kElementBytes = 2;
// Enough to fill any device several times over; more would only have to be scheduled.
constexpr std::int64_t kMostCtas = 2048;

// Adds the operand as the next one of the launch and moves `end` behind its copy.
std::int64_t add_operand(const MatrixShape& operand, Packing& packing) {
  const MatrixShape copy = packed(operand);
  const std::int64_t chunks_per_line = ceil_div(operand.cols, kPackElements);
  const std::int64_t chunks = operand.rows * chunks_per_line;
  PackOperand& args = packing.args.operands[packing.operands++];
  args.ld_from = operand.ld;
  args.ld_to = copy.ld;
  args.columns = static_cast<int>(operand.cols);
  args.chunks = static_cast<unsigned>(chunks);
  args.chunks_per_line = static_cast<unsigned>(chunks_per_line);
  args.chunks_reciprocal = gemmsmith_kernels::reciprocal(args.chunks_per_line);
  const std::int64_t ctas = std::min(ceil_div(chunks, kPackThreads * kPackBatch), kMostCtas);
  packing.grid = std::max(packing.grid, static_cast<unsigned>(ctas));
  const std::int64_t at = packing.end;
  packing.end += copy.rows * copy.ld * kElementBytes;
  return at;
}

}  // namespace

Packing make_packing(int pack, const Problem& problem, std::int64_t first) {
  Packing packing;
  packing.end = first;
  packing.packs_a = (pack & kPackA) != 0;
  packing.packs_b = (pack & kPackB) != 0;
  if (packing.packs_a) packing.at_a = add_operand(stored_a(problem), packing);
  if (packing.packs_b) packing.at_b = add_operand(stored_b(problem), packing);
  return packing;
}

void set_sources(const Packing& packing, const void* a, const void* b,
                 gemmsmith_kernels::PackArgs& args) {
  PackOperand* next = args.operands;
  if (packing.packs_a) (next++)->from = a;
  if (packing.packs_b) next->from = b;
}

void set_copies(const Packing& packing, void* workspace, gemmsmith_kernels::PackArgs& args) {
  char* const start = static_cast<char*>(workspace);
  PackOperand* next = args.operands;
  if (packing.packs_a) (next++)->to = start + packing.at_a;
  if (packing.packs_b) next->to = start + packing.at_b;
}

}  // namespace gemmsmith::plan
