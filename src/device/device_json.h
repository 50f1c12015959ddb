// device_json.h -- DeviceInfo as JSON: the "device" member of a recording's sidecar, and of every
// other place that keeps which device measured.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "device/device_info.h"

namespace gemmsmith {

// {"name":"NVIDIA H200","compute_capability":90,...}: every field of Target and DeviceInfo but the
// uuid, which would tell one card from its twin.
std::string device_to_json(const DeviceInfo& info);

// Errors (kBadInput) name the member that is missing or of another type. Members that are not known
// are ignored.
Result<DeviceInfo> device_from_json(std::string_view json);

// That each figure may be a GPU's, for devices that a file describes: times are predicted and
// rejected by them. Errors (kBadInput) name the member, its value and the range.
Result<void> check_plausible(const DeviceInfo& info);

// The "device" member of a larger object, such as a sidecar.
Result<DeviceInfo> device_from_sidecar(std::string_view json);

}  // namespace gemmsmith
