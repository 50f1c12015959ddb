// Policies: any bytes are safe, a refusal names the file, and what was read writes the same bytes.
#include "fuzz/fuzz.h"
#include "policy/policy_file.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(fuzz::text_of(data, size));
  const auto read = policy::parse_policy(bytes, "p.policy");
  if (!read) {
    fuzz::require(read.error().code == ErrorCode::kBadInput, "a bad policy is bad input");
    fuzz::require(read.error().what.find("p.policy") != std::string::npos, "the file is named");
    return 0;
  }
  fuzz::require(policy::format_policy(*read) == bytes, "writing what was read changes nothing");
  return 0;
}
