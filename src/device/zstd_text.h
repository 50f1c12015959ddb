// zstd_text.h -- whole texts in and out of zstd.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

Result<std::string> zstd_compress(std::string_view text);

// Errors (kBadInput) tell data that is not zstd, damaged data and a truncated end apart; more than
// `max_bytes` of text is refused, since a few kilobytes can ask for any amount of memory.
Result<std::string> zstd_decompress(std::string_view bytes, std::size_t max_bytes);

}  // namespace gemmsmith
