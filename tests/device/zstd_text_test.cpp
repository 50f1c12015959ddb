// Compressed texts come back whole or not at all.
#include "device/zstd_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gemmsmith {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 30;

RC_GTEST_PROP(ZstdText, RoundTrip, (const std::string& text)) {
  const auto bytes = zstd_compress(text);
  RC_ASSERT(bytes.has_value());
  RC_ASSERT(zstd_decompress(*bytes, kPlenty).value() == text);
}

TEST(ZstdText, EveryTruncationIsRefused) {
  const std::string bytes = *zstd_compress(std::string(100000, 'x') + "the end");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(zstd_decompress(std::string_view(bytes).substr(0, size), kPlenty)) << size;
}

TEST(ZstdText, EveryFlippedByteIsRefusedOrHarmless) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * i) + ",";
  const std::string bytes = *zstd_compress(text);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    const auto read = zstd_decompress(flipped, kPlenty);
    // A flag in the frame's header may change how it is read, never what.
    EXPECT_TRUE(!read || *read == text) << at;
  }
}

TEST(ZstdText, RefusesWhatIsNotZstdAndWhatIsTooMuch) {
  EXPECT_EQ(zstd_decompress("m,n,k", kPlenty).error().what,
            "zstd data is damaged: Unknown frame descriptor");
  EXPECT_EQ(zstd_decompress(*zstd_compress(std::string(1001, 'x')), 1000).error().what,
            "zstd data holds more than 1000 bytes");
}

}  // namespace
}  // namespace gemmsmith
