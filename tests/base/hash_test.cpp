// hash_test.cpp -- the published values of XXH3, so that identities stay what they are.
#include "base/hash.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

TEST(Hash, HasTheReferenceValues) {
  // xxHash's own vectors for the empty input and seed 0.
  EXPECT_EQ(hash128_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2ull);
}

TEST(Hash, TellsNeighboursApart) {
  EXPECT_NE(hash128_hex("a"), hash128_hex("b"));
  EXPECT_NE(hash128_hex(std::string_view("a\0", 2)), hash128_hex("a"));
  EXPECT_EQ(hash128_hex("a").size(), 32u);
}

}  // namespace
}  // namespace gemmsmith
