// wgmma_text.h -- the text of the one warpgroup matrix instruction a kernel of family sm90_ws
// needs.
//
// wgmma.mma_async names every accumulator register in its operand list, so each N and type is
// another asm statement. A header with all of them would be thousands of lines of which a kernel
// uses one; instead `wgmma_config.cuh` is generated per config, next to `config.cuh`.
#pragma once

#include <string>

namespace gemmsmith::compile {

// Values of kElementType and kAccumulatorType in config.cuh.
enum class WgmmaElement { F16 = 0, Bf16 = 1 };
enum class WgmmaAccumulator { F32 = 0, F16 = 1 };

// The instruction's N for a config: two cooperative consumers that cannot split the tile's rows
// into whole 64-row blocks split its columns. schedule: 0 cooperative, 1 pingpong.
int wgmma_n(int tile_m, int tile_n, int consumers, int schedule);

// A function `wgmma(registers, descriptor_a, descriptor_b, accumulate)` on 64 x n accumulators;
// n is a multiple of 8 from 8 to 256, F16 accumulators need F16 elements (else an empty string).
// `a_along_m`, `b_along_n`: the operand's contiguous dimension is not k.
std::string wgmma_text(int n, WgmmaElement element, WgmmaAccumulator accumulator,
                       bool a_along_m = false, bool b_along_n = false);

}  // namespace gemmsmith::compile
