// device_info.h -- which device, driver and libraries a result belongs to: the fingerprint in the
// store's key and a recording's sidecar.
#pragma once

#include <string>

#include "problem/target.h"

namespace gemmsmith {

struct DeviceInfo {
  Target target;
  std::string uuid;              // empty for a recording
  std::string driver_version;    // "580.159.04", or "13.0" where only the API version is known
  int cuda_version = 0;          // cuDriverGetVersion, 13000
  std::string cublas_version;    // "13.1.0", as the library says
  std::string compiler_version;  // "nvrtc 13.0"

  // "NVIDIA H200, 132 SMs, sm_90": equal where the same kernels win.
  std::string kind() const;
  // "NVIDIA H200, 132 SMs, sm_90, driver 580.159.04, cublas 13.1.0, nvrtc 13.0": equal for
  // interchangeable results.
  std::string fingerprint() const;
};

}  // namespace gemmsmith
