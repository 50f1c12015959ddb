// driver_version.h -- the driver's own version ("580.159.04"), which the driver API does not tell:
// the kernel module's text has it, else NVML.
#pragma once

#include <string>
#include <string_view>

namespace gemmsmith {

// From /proc/driver/nvidia/version, else NVML, else the CUDA version it supports: "13.0" for 13000.
std::string driver_version_text(int cuda_version);

// The version in the kernel module's text; empty where it holds none.
std::string parse_kernel_module_version(std::string_view text);

}  // namespace gemmsmith
