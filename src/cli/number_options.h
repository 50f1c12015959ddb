// number_options.h -- flags that take a number. CLI11 would read 010 as octal, an empty value as 0
// and a hexadecimal one without a word; here a number is decimal, and the whole text.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

namespace gemmsmith::cli {

// A flag whose value is a whole number from `least` to `most`. The refusal names flag, value and
// range; where the flag is given and taken, `take` gets the number.
CLI::Option* add_whole_number(CLI::App& app, const std::string& flag, const std::string& help,
                              std::int64_t least, std::int64_t most,
                              const std::function<void(std::int64_t)>& take);

template <class T>
CLI::Option* add_whole_number(CLI::App& app, const std::string& flag, T& target,
                              const std::string& help, std::int64_t least,
                              std::int64_t most = std::numeric_limits<T>::max()) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, std::int64_t>);
  return add_whole_number(app, flag, help, least, most,
                          [&target](std::int64_t value) { target = static_cast<T>(value); });
}

// The same of a finite number of at least `least`.
CLI::Option* add_number(CLI::App& app, const std::string& flag, double& target,
                        const std::string& help, double least);

// Any number that is finite as a 32-bit float.
CLI::Option* add_number(CLI::App& app, const std::string& flag, float& target,
                        const std::string& help);

}  // namespace gemmsmith::cli
