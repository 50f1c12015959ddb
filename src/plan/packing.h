// packing.h -- the launch of kernels/pack.cu before a kernel whose operands are packed: where in
// the workspace each copy lies and how it is made.
#pragma once

#include <cstdint>

#include "kernels/parts/pack_args.cuh"
#include "problem/matrix_shape.h"
#include "problem/problem.h"

namespace gemmsmith::plan {

struct Packing {
  unsigned grid = 0;      // CTAs along x
  unsigned operands = 0;  // along y; 0: nothing is packed
  bool packs_a = false;
  bool packs_b = false;
  std::int64_t at_a = 0;  // bytes from the workspace's start
  std::int64_t at_b = 0;
  std::int64_t end = 0;                   // bytes of workspace
  gemmsmith_kernels::PackArgs args = {};  // pointers null

  bool is_needed() const { return operands > 0; }
};

// `pack` as of space/packing.h. The copies start at byte `first` of the workspace, a multiple of
// 128.
Packing make_packing(int pack, const Problem& problem, std::int64_t first);

// Where the packed ones of the operands are, and where their copies will be.
void set_sources(const Packing& packing, const void* a, const void* b,
                 gemmsmith_kernels::PackArgs& args);
void set_copies(const Packing& packing, void* workspace, gemmsmith_kernels::PackArgs& args);

}  // namespace gemmsmith::plan
