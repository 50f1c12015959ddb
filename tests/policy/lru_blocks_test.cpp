#include "policy/lru_blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <list>

namespace gemmsmith::policy {
namespace {

TEST(LruBlocks, TheOldestLeavesFirst) {
  LruBlocks cache(3, 4);
  EXPECT_FALSE(cache.touch(0, 1));
  EXPECT_FALSE(cache.touch(1, 1));
  EXPECT_FALSE(cache.touch(2, 1));
  EXPECT_TRUE(cache.touch(0, 1));   // now 1 is the oldest
  EXPECT_FALSE(cache.touch(3, 1));  // for which 1 left
  EXPECT_FALSE(cache.touch(1, 1));
  EXPECT_TRUE(cache.touch(0, 1));
}

TEST(LruBlocks, ABlockLargerThanTheCacheEmptiesIt) {
  LruBlocks cache(3, 2);
  cache.touch(0, 1);
  EXPECT_FALSE(cache.touch(1, 4));
  EXPECT_EQ(cache.bytes(), 0);
  EXPECT_FALSE(cache.touch(1, 4));
}

// Against a list that is searched and shortened.
RC_GTEST_PROP(LruBlocks, IsAListOfTheYoungest, (const std::vector<std::uint8_t>& touches)) {
  constexpr std::size_t kBlocks = 16;
  LruBlocks cache(20, kBlocks);
  std::list<std::size_t> list;
  const auto bytes_of = [](std::size_t block) { return static_cast<double>(1 + block % 7); };
  for (const std::uint8_t touch : touches) {
    const std::size_t block = touch % kBlocks;
    const auto found = std::find(list.begin(), list.end(), block);
    const bool inside = found != list.end();
    if (inside) list.erase(found);
    list.push_front(block);
    double total = 0;
    for (const std::size_t each : list) total += bytes_of(each);
    while (total > 20) {
      total -= bytes_of(list.back());
      list.pop_back();
    }
    RC_ASSERT(cache.touch(block, bytes_of(block)) == inside);
    RC_ASSERT(cache.bytes() == total);
  }
}

}  // namespace
}  // namespace gemmsmith::policy
