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

TEST(DeviceJson, ASidecarMustSayWhichDevice) {
  EXPECT_EQ(device_from_sidecar("{\"protocol\":1}").error().what, "no member 'device'");
  EXPECT_EQ(device_from_sidecar("[").error().what, "not a JSON object");
  EXPECT_EQ(device_from_sidecar("{\"device\":7}").error().what, "device: expected a JSON object");
  EXPECT_TRUE(device_from_sidecar("{\"device\":" + device_to_json(h200()) + "}"));
}

}  // namespace
}  // namespace gemmsmith
