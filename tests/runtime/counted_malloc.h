// counted_malloc.h -- counts what a piece of code asks of the C library's allocator.
#pragma once

#include <functional>

namespace gemmsmith::runtime {

int allocations_during(const std::function<void()>& work);

}  // namespace gemmsmith::runtime
