#include "device/device_json.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/strict_json.h"

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
  if constexpr (std::is_integral_v<Field>) {
    // Converting another one would change it without a word.
    if (value.is_number_unsigned())
      return value.get<std::uint64_t>() <=
             static_cast<std::uint64_t>(std::numeric_limits<Field>::max());
    return value.is_number_integer() &&
           value.get<std::int64_t>() >= std::numeric_limits<Field>::min();
  }
}

// What no GPU is below or above; generous, as cards that are not known yet are to pass.
struct Range {
  std::string_view member;
  double least, most;
};
constexpr Range kRanges[] = {
    {"compute_capability", 50, 1000},          {"sm_count", 1, 4096},
    {"l2_bytes", 1 << 16, 1LL << 36},          {"shared_bytes_per_block", 1 << 14, 1 << 26},
    {"shared_bytes_per_sm", 1 << 14, 1 << 26}, {"registers_per_sm", 1 << 12, 1 << 24},
    {"max_threads_per_sm", 256, 1 << 16},      {"sm_clock_mhz", 100, 20000},
    {"memory_bytes_per_s", 1e9, 1e15},         {"cuda_version", 0, 1000000},
};

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

Result<void> check_plausible(const DeviceInfo& info) {
  Result<void> result;
  for_each_member(info, [&](std::string_view member, const auto& field) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
      const auto range = std::find_if(std::begin(kRanges), std::end(kRanges),
                                      [&](const Range& r) { return r.member == member; });
      const auto value = static_cast<double>(field);
      if (range == std::end(kRanges) || (value >= range->least && value <= range->most)) return;
      if (result)
        result = fail(ErrorCode::kBadInput, "device: {} = {}: expected {} to {}", member, field,
                      range->least, range->most);
    }
  });
  return result;
}

Result<DeviceInfo> device_from_json(std::string_view text) {
  return from_object(json::parse(text, nullptr, /*allow_exceptions=*/false));
}

Result<DeviceInfo> device_from_sidecar(std::string_view text) {
  GEMMSMITH_TRY(const json object, parse_json(text));
  if (!object.is_object()) return fail(ErrorCode::kBadInput, "not a JSON object");
  const auto device = object.find("device");
  if (device == object.end()) return fail(ErrorCode::kBadInput, "no member 'device'");
  return from_object(*device);
}

}  // namespace gemmsmith
