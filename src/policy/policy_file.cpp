#include "policy/policy_file.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"

namespace gemmsmith::policy {
namespace {

constexpr std::string_view kMagic = "gemmpoli";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8;  // magic, version, zero, bytes, checksum
constexpr std::uint32_t kMostNumbers = 1U << 24;         // of one array; a policy has thousands

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian; another order needs a swap here");

class Writer {
 public:
  template <class Value>
  void value(Value value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
  }
  void numbers(const std::vector<float>& numbers) {
    value(static_cast<std::uint32_t>(numbers.size()));
    for (const float number : numbers) value(number);
  }
  void layers(const std::vector<Layer>& layers) {
    value(static_cast<std::uint32_t>(layers.size()));
    for (const Layer& layer : layers) {
      value(static_cast<std::int32_t>(layer.inputs));
      value(static_cast<std::int32_t>(layer.outputs));
      numbers(layer.weights);
      numbers(layer.bias);
    }
  }
  void words(std::string_view words) {
    value(static_cast<std::uint32_t>(words.size()));
    text_ += words;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads what Writer wrote; once something does not fit, everything after reads as zero.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class Value>
  Value value() {
    Value result{};
    if (left_.size() < sizeof result) {
      good_ = false;
      left_ = {};
      return result;
    }
    std::memcpy(&result, left_.data(), sizeof result);
    left_.remove_prefix(sizeof result);
    return result;
  }
  std::vector<float> numbers() {
    const auto count = value<std::uint32_t>();
    if (count > kMostNumbers || left_.size() < count * sizeof(float)) {
      good_ = false;
      return {};
    }
    std::vector<float> result(count);
    if (count > 0) std::memcpy(result.data(), left_.data(), count * sizeof(float));
    left_.remove_prefix(count * sizeof(float));
    return result;
  }
  std::vector<Layer> layers() {
    std::vector<Layer> result;
    const auto count = value<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && good_; ++i) {
      Layer layer;
      layer.inputs = value<std::int32_t>();
      layer.outputs = value<std::int32_t>();
      layer.weights = numbers();
      layer.bias = numbers();
      result.push_back(std::move(layer));
    }
    return result;
  }
  std::string words() {
    const auto count = value<std::uint32_t>();
    if (left_.size() < count) {
      good_ = false;
      return {};
    }
    std::string result(left_.substr(0, count));
    left_.remove_prefix(count);
    return result;
  }
  bool is_done() const { return good_ && left_.empty(); }

 private:
  std::string_view left_;
  bool good_ = true;
};

}  // namespace

std::string format_policy(const PolicyFile& policy, std::uint64_t features) {
  const Network& network = policy.network;
  Writer body;
  body.value(features);
  body.words(policy.origin);
  body.numbers(network.mean);
  body.numbers(network.scale);
  body.layers(network.scorer);
  body.layers(network.adviser);
  body.layers(network.value);
  for (const float number : {network.likeness.length, network.likeness.signal,
                             network.likeness.offset, network.likeness.noise, network.temperature})
    body.value(number);
  const std::string payload = body.take();
  Writer file;
  for (const char c : kMagic) file.value(c);
  file.value(kVersion);
  file.value(std::uint32_t{0});
  file.value(static_cast<std::uint64_t>(kHeaderBytes + payload.size()));
  file.value(hash64(payload));
  return file.take() + payload;
}

Result<PolicyFile> parse_policy(std::string_view bytes, const std::string& file_name) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) {
    if (bytes.size() < kHeaderBytes && kMagic.substr(0, bytes.size()) == bytes.substr(0, 8))
      return fail(ErrorCode::kBadInput, "{}: a policy cut short after {} bytes; copy it again",
                  file_name, bytes.size());
    return fail(ErrorCode::kBadInput, "{}: is not a policy file (see gemmsmith train)", file_name);
  }
  Reader header(bytes.substr(kMagic.size(), kHeaderBytes - kMagic.size()));
  const auto version = header.value<std::uint32_t>();
  if (version != kVersion)
    return fail(ErrorCode::kBadInput,
                "{}: a policy of version {}, this program reads {}; train it again", file_name,
                version, kVersion);
  const auto reserved = header.value<std::uint32_t>();
  const auto size = header.value<std::uint64_t>();
  const auto checksum = header.value<std::uint64_t>();
  if (bytes.size() < size)
    return fail(ErrorCode::kBadInput, "{}: a policy cut short: {} of {} bytes; copy it again",
                file_name, bytes.size(), size);
  const std::string_view payload = bytes.substr(kHeaderBytes);
  if (reserved != 0 || bytes.size() != size || hash64(payload) != checksum)
    return fail(ErrorCode::kBadInput,
                "{}: a damaged policy: its checksum does not match; copy it again", file_name);
  Reader body(payload);
  PolicyFile policy;
  if (body.value<std::uint64_t>() != feature_set())
    return fail(ErrorCode::kBadInput,
                "{}: a policy for another feature set than this program's; train it again",
                file_name);
  policy.origin = body.words();
  Network& network = policy.network;
  network.mean = body.numbers();
  network.scale = body.numbers();
  network.scorer = body.layers();
  network.adviser = body.layers();
  network.value = body.layers();
  for (float* const number :
       {&network.likeness.length, &network.likeness.signal, &network.likeness.offset,
        &network.likeness.noise, &network.temperature})
    *number = body.value<float>();
  if (!body.is_done())
    return fail(ErrorCode::kBadInput, "{}: a policy whose parts do not fill it; train it again",
                file_name);
  if (const auto checked = check(network); !checked)
    return fail(ErrorCode::kBadInput, "{}: {}; train it again", file_name, checked.error().what);
  return policy;
}

std::string trained_on(const PolicyFile& policy) {
  const auto origin = nlohmann::json::parse(policy.origin, nullptr, false);
  if (!origin.is_object()) return "";
  const auto device = origin.find("device");
  return device != origin.end() && device->is_string() ? device->get<std::string>() : "";
}

Result<PolicyFile> read_policy(const std::filesystem::path& path) {
  GEMMSMITH_TRY(const std::string bytes, read_file(path));
  return parse_policy(bytes, path.string());
}

Result<void> write_policy(const std::filesystem::path& path, const PolicyFile& policy) {
  return write_file_atomic(path, format_policy(policy), ErrorCode::kBadInput);
}

}  // namespace gemmsmith::policy
