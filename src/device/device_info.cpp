#include "device/device_info.h"

#include <fmt/format.h>

namespace gemmsmith {

std::string DeviceInfo::kind() const {
  return fmt::format("{}, {} SMs, sm_{}", target.name, target.sm_count, target.compute_capability);
}

std::string DeviceInfo::fingerprint() const {
  std::string text = kind();
  if (!driver_version.empty()) text += fmt::format(", driver {}", driver_version);
  if (!cublas_version.empty()) text += fmt::format(", cublas {}", cublas_version);
  if (!compiler_version.empty()) text += fmt::format(", {}", compiler_version);
  return text;
}

}  // namespace gemmsmith
