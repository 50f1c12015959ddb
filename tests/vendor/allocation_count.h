// allocation_count.h -- how often this test binary's operator new ran, for promises of none.
#pragma once

#include <cstdint>

std::int64_t allocation_count();
