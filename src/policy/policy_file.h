// policy_file.h -- a trained network as a small checked file; docs/format_policy.md describes it. A
// file that is truncated, damaged, of another version or for other features is refused by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "policy/features.h"
#include "policy/network.h"

namespace gemmsmith::policy {

struct PolicyFile {
  Network network;
  std::string origin;  // JSON text: what it was trained on, with which seed and settings
};

std::string format_policy(const PolicyFile& policy, std::uint64_t features = feature_set());
// Errors (kBadInput) begin with `file_name` and say what is wrong and what to do.
Result<PolicyFile> parse_policy(std::string_view bytes, const std::string& file_name);

// The fingerprint of the device whose recording it was trained on; "" where the origin does not
// say.
std::string trained_on(const PolicyFile& policy);

Result<PolicyFile> read_policy(const std::filesystem::path& path);
Result<void> write_policy(const std::filesystem::path& path, const PolicyFile& policy);

}  // namespace gemmsmith::policy
