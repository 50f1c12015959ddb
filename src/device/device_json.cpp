#include "device/device_json.h"

#include <nlohmann/json.hpp>

namespace gemmsmith {
namespace {

using nlohmann::json;

// Calls visit(name, field) for each member, so that writing and reading cannot differ.
template <class Info, class Visit>
void for_each_member(Info& info, const Visit& visit) {
  visit("name", info.target.name);
  visit("compute_capability", info.target.compute_capability);
  visit("sm_count", info.target.sm_count);
  visit("l2_bytes", info.target.l2_bytes);
  visit("shared_bytes_per_block", info.target.shared_bytes_per_block);
  visit("shared_bytes_per_sm", info.target.shared_bytes_per_sm);
  visit("registers_per_sm", info.target.registers_per_sm);
  visit("max_threads_per_sm", info.target.max_threads_per_sm);
  visit("sm_clock_mhz", info.target.sm_clock_mhz);
  visit("memory_bytes_per_s", info.target.memory_bytes_per_s);
  visit("driver_version", info.driver_version);
  visit("cuda_version", info.cuda_version);
  visit("cublas_version", info.cublas_version);
  visit("compiler_version", info.compiler_version);
}

template <class Field>
bool has_type(const json& value, const Field&) {
  if constexpr (std::is_same_v<Field, std::string>) return value.is_string();
  if constexpr (std::is_same_v<Field, double>) return value.is_number();
  if constexpr (std::is_integral_v<Field>) return value.is_number_integer();
}

Result<DeviceInfo> from_object(const json& object) {
  if (!object.is_object()) return fail(ErrorCode::kBadInput, "device: expected a JSON object");
  DeviceInfo info;
  std::string bad;
  for_each_member(info, [&](const char* member, auto& field) {
    const auto found = object.find(member);
    if (found != object.end() && has_type(*found, field)) {
      found->get_to(field);
    } else if (bad.empty()) {
      bad = member;
    }
  });
  if (!bad.empty())
    return fail(ErrorCode::kBadInput, "device: member '{}' is missing or of the wrong type", bad);
  return info;
}

}  // namespace

std::string device_to_json(const DeviceInfo& info) {
  json object = json::object();
  for_each_member(info, [&](const char* member, const auto& field) { object[member] = field; });
  return object.dump();
}

Result<DeviceInfo> device_from_json(std::string_view text) {
  return from_object(json::parse(text, nullptr, /*allow_exceptions=*/false));
}

Result<DeviceInfo> device_from_sidecar(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return fail(ErrorCode::kBadInput, "not a JSON object");
  const auto device = object.find("device");
  if (device == object.end()) return fail(ErrorCode::kBadInput, "no member 'device'");
  return from_object(*device);
}

}  // namespace gemmsmith
