// lru_blocks.h -- a cache that holds the blocks touched last, up to a number of bytes: what remains
// in L2, block by block instead of line by line.
#pragma once

#include <cstdint>
#include <vector>

namespace gemmsmith::policy {

class LruBlocks {
 public:
  // Blocks are numbered from 0 to count - 1; all are outside at first.
  LruBlocks(double capacity_bytes, std::size_t count);

  // Touches a block, which then is the youngest; the oldest leave until the rest fit. True: it was
  // inside. A block larger than the capacity never stays.
  bool touch(std::size_t block, double bytes);

  double bytes() const { return bytes_; }

 private:
  // Places in a ring: `end_`, the youngest, ..., the oldest, `end_`. A block outside has no next.
  struct Link {
    std::uint32_t next = 0;
    std::uint32_t previous = 0;
    double bytes = 0;
    bool inside = false;
  };
  void take_out(std::uint32_t block);
  void put_first(std::uint32_t block);

  double capacity_;
  double bytes_ = 0;
  std::uint32_t end_;
  std::vector<Link> links_;
};

}  // namespace gemmsmith::policy
