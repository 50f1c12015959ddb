// Recordings: what is read can be written, and then reads the same. An input that starts like a
// zstd frame is unpacked first, as the file reader does.
#include "device/recording.h"
#include "device/zstd_text.h"
#include "fuzz/fuzz.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(fuzz::text_of(data, size));
  if (text.rfind("\x28\xb5\x2f\xfd", 0) == 0) {
    constexpr std::size_t kMostBytes = 1 << 20;
    auto unpacked = zstd_decompress(text, kMostBytes);
    if (!unpacked) return 0;
    fuzz::require(unpacked->size() <= kMostBytes, "the limit on unpacked bytes holds");
    text = std::move(*unpacked);
  }
  const auto rows = parse_recording(text, "r.csv");
  if (!rows) {
    fuzz::require(rows.error().code == ErrorCode::kBadInput, "a bad recording is bad input");
    fuzz::require(rows.error().what.find("r.csv") != std::string::npos, "the file is named");
    return 0;
  }
  const auto written = format_recording(*rows);
  fuzz::require(written.has_value(),
                "what was read can be written: " + (written ? "" : written.error().what));
  const auto again = parse_recording(*written, "r.csv");
  fuzz::require(again.has_value(), "what was written can be read");
  const auto twice = format_recording(*again);
  fuzz::require(twice.has_value() && *twice == *written, "writing what was read changes nothing");
  return 0;
}
