// generator.h -- random numbers that are the same on every machine and standard library, unlike the
// distributions of <random>: a seed must give the same search everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace gemmsmith {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  // 0 .. bound - 1; bound > 0. The bias of the remainder is below 1e-12 for our bounds.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }

  // 0 <= x < 1.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace gemmsmith
