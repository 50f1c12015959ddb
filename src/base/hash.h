// hash.h -- XXH3-128, the identity of kernels, cache entries and devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gemmsmith {

// 32 lower-case hexadecimal digits of the XXH3-128 of `bytes`.
std::string hash128_hex(std::string_view bytes);

// The low 64 bits of the same hash; for checksums inside files.
std::uint64_t hash64(std::string_view bytes);

}  // namespace gemmsmith
