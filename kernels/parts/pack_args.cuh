// pack_args.cuh -- what pack.cu is given at launch. Included by it (NVRTC, no headers available)
// and by src/plan (host), so it uses built-in types only and both see one layout.
#pragma once

namespace gemmsmith_kernels {

// Elements that a thread copies at a time, and of which a packed line holds a whole number.
constexpr int kPackElements = 8;
constexpr int kPackThreads = 256;
// Of a thread, all read before the first is written.
constexpr int kPackBatch = 4;

// A stored matrix: `lines` of `columns` contiguous elements of 16 bits.
struct PackOperand {
  const void* from;  // 2-byte aligned
  void* to;          // 16-byte aligned
  long long ld_from;
  long long ld_to;  // a multiple of kPackElements
  int columns;
  unsigned chunks;             // lines * chunks_per_line
  unsigned chunks_per_line;    // ceil(columns / kPackElements)
  unsigned chunks_reciprocal;  // reciprocal(chunks_per_line), see args.cuh
};

// Grid: any number of CTAs of kPackThreads along x, one operand a y.
struct PackArgs {
  PackOperand operands[2];
};

}  // namespace gemmsmith_kernels
