// fake_pack.h -- what kernels/pack.cu does, for the fake drivers: copies the stored matrices of a
// PackArgs to where they can be read. The last chunk of a line is filled up with zeros, and the
// rest of a copy's line left alone, so that a test sees what a kernel may rely on.
#pragma once

#include <cstdint>

#include "kernels/parts/pack_args.cuh"

namespace gemmsmith::test {

inline void fake_pack_operand(const gemmsmith_kernels::PackOperand& operand) {
  const auto* from = static_cast<const std::uint16_t*>(operand.from);
  auto* to = static_cast<std::uint16_t*>(operand.to);
  for (unsigned chunk = 0; chunk < operand.chunks; ++chunk) {
    const std::int64_t line = chunk / operand.chunks_per_line;
    const std::int64_t first =
        std::int64_t{chunk % operand.chunks_per_line} * gemmsmith_kernels::kPackElements;
    for (std::int64_t column = first; column < first + gemmsmith_kernels::kPackElements; ++column)
      to[line * operand.ld_to + column] =
          column < operand.columns ? from[line * operand.ld_from + column] : std::uint16_t{0};
  }
}

// `operands`: the launch's grid along y.
inline void fake_pack(const gemmsmith_kernels::PackArgs& args, unsigned operands) {
  for (unsigned i = 0; i < operands; ++i) fake_pack_operand(args.operands[i]);
}

}  // namespace gemmsmith::test
