#include "runtime/counted_malloc.h"

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<bool> is_counting{false};
std::atomic<int> allocations{0};

}  // namespace

// Every new, malloc and calloc of the process goes through these two.
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {
  if (is_counting.load(std::memory_order_relaxed)) ++allocations;
  return __libc_malloc(bytes);
}
extern "C" void* calloc(std::size_t count, std::size_t bytes) {
  if (is_counting.load(std::memory_order_relaxed)) ++allocations;
  return __libc_calloc(count, bytes);
}

int gemmsmith::runtime::allocations_during(const std::function<void()>& work) {
  allocations = 0;
  is_counting = true;
  work();
  is_counting = false;
  return allocations;
}
