// A doubly linked ring through an array: a model touches millions of blocks, so nothing is hashed
// and nothing allocated after the start.
#include "policy/lru_blocks.h"

namespace gemmsmith::policy {

LruBlocks::LruBlocks(double capacity_bytes, std::size_t count)
    : capacity_(capacity_bytes), end_(static_cast<std::uint32_t>(count)), links_(count + 1) {
  links_[end_].next = links_[end_].previous = end_;
}

void LruBlocks::take_out(std::uint32_t block) {
  Link& link = links_[block];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  link.inside = false;
  bytes_ -= link.bytes;
}

void LruBlocks::put_first(std::uint32_t block) {
  Link& link = links_[block];
  link.next = links_[end_].next;
  link.previous = end_;
  links_[link.next].previous = block;
  links_[end_].next = block;
  link.inside = true;
  bytes_ += link.bytes;
}

bool LruBlocks::touch(std::size_t block, double bytes) {
  const auto place = static_cast<std::uint32_t>(block);
  const bool was_inside = links_[place].inside;
  if (was_inside) take_out(place);
  links_[place].bytes = bytes;
  put_first(place);
  while (bytes_ > capacity_ && links_[end_].previous != end_) take_out(links_[end_].previous);
  return was_inside;
}

}  // namespace gemmsmith::policy
