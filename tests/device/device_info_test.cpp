// A device's fingerprint and its JSON form.
#include "device/device_info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "device/device_json.h"

namespace gemmsmith {
namespace {

DeviceInfo h200() {
  DeviceInfo info;
  info.target = *known_target("h200");
  info.uuid = "GPU-1";
  info.driver_version = "580.159.04";
  info.cuda_version = 13000;
  info.cublas_version = "13.1.0";
  info.compiler_version = "nvrtc 13.0";
  return info;
}

TEST(DeviceInfo, FingerprintLeavesTheCardItselfOut) {
  DeviceInfo twin = h200();
  twin.uuid = "GPU-2";
  EXPECT_EQ(h200().fingerprint(),
            "NVIDIA H200, 132 SMs, sm_90, driver 580.159.04, cublas 13.1.0, nvrtc 13.0");
  EXPECT_EQ(twin.fingerprint(), h200().fingerprint());
}

TEST(DeviceInfo, FingerprintWithoutVersions) {
  DeviceInfo info;
  info.target = *known_target("a100");
  EXPECT_EQ(info.fingerprint(), "NVIDIA A100, 108 SMs, sm_80");
}

TEST(DeviceJson, ReadsBackAllButTheUuid) {
  const auto read = device_from_json(device_to_json(h200()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->target, h200().target);
  EXPECT_EQ(read->fingerprint(), h200().fingerprint());
  EXPECT_EQ(read->cuda_version, 13000);
  EXPECT_EQ(read->uuid, "");
}

TEST(DeviceJson, EveryMemberIsRequired) {
  const auto whole = nlohmann::json::parse(device_to_json(h200()));
  for (const auto& [member, value] : whole.items()) {
    auto part = whole;
    part.erase(member);
    const auto read = device_from_json(part.dump());
    ASSERT_FALSE(read) << member;
    EXPECT_EQ(read.error().what, "device: member '" + member + "' is missing or of the wrong type");
    part[member] = nlohmann::json::array();
    EXPECT_FALSE(device_from_json(part.dump())) << member;
  }
}

// Conversion would have changed them.
TEST(DeviceJson, NumbersThatDoNotFitAreRefused) {
  auto object = nlohmann::json::parse(device_to_json(h200()));
  for (const nlohmann::json& value :
       {nlohmann::json(1ULL << 40), nlohmann::json(-(1LL << 40)), nlohmann::json(1.5)}) {
    object["sm_count"] = value;
    EXPECT_EQ(device_from_json(object.dump()).error().what,
              "device: member 'sm_count' is missing or of the wrong type");
  }
}

TEST(DeviceJson, FiguresThatNoDeviceHasAreRefusedByName) {
  for (const char* name : {"a100", "h100", "h200"}) {
    DeviceInfo info;
    info.target = *known_target(name);
    EXPECT_TRUE(check_plausible(info)) << name;
  }
  const auto whole = nlohmann::json::parse(device_to_json(h200()));
  for (const auto& [member, value] : whole.items()) {
    if (!value.is_number()) continue;
    for (const int bad : {-132, 0, 1}) {
      if (bad >= 0 && (member == "cuda_version" || (bad == 1 && member == "sm_count"))) continue;
      auto object = whole;
      object[member] = bad;
      const auto checked = check_plausible(*device_from_json(object.dump()));
      ASSERT_FALSE(checked) << member << bad;
      EXPECT_EQ(
          checked.error().what.rfind(fmt::format("device: {} = {}: expected ", member, bad), 0), 0U)
          << checked.error().what;
    }
  }
  DeviceInfo fast = h200();
  fast.target.sm_clock_mhz = 1e30;
  EXPECT_EQ(check_plausible(fast).error().what,
            "device: sm_clock_mhz = 1e+30: expected 100 to 20000");
}

TEST(DeviceJson, ASidecarMustSayWhichDevice) {
  EXPECT_EQ(device_from_sidecar("{\"protocol\":1}").error().what, "no member 'device'");
  EXPECT_EQ(device_from_sidecar("[").error().what, "not JSON: wrong or cut off at byte 2");
  EXPECT_EQ(device_from_sidecar("[]").error().what, "not a JSON object");
  EXPECT_EQ(device_from_sidecar("{\"device\":7}").error().what, "device: expected a JSON object");
  EXPECT_TRUE(device_from_sidecar("{\"device\":" + device_to_json(h200()) + "}"));
}

}  // namespace
}  // namespace gemmsmith
