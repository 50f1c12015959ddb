// embedded_kernels.h -- the kernel texts that the build put into the binary.
#pragma once

#include <string_view>
#include <vector>

namespace gemmsmith::compile {

struct KernelText {
  std::string_view name;  // "sm90_ws.cu", "parts/tma.cuh"
  std::string_view text;
};

const std::vector<KernelText>& embedded_kernels();

}  // namespace gemmsmith::compile
