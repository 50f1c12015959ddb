// config.h -- one point of a family's space: a value for each of its parameters, in the family's
// order. The text form is the config's identity everywhere (store, recordings, command line).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"

namespace gemmsmith {

struct Family;

// What a parameter costs to change: a new kernel, or another launch of the same one.
enum class Binding { kCompile, kLaunch };

struct Parameter {
  std::string_view name;  // "tile_m"; also names the kernel's constant kTileM
  std::string_view code;  // "m": the short form in a config's text
  Binding binding = Binding::kCompile;
  int default_value = 0;        // omitted from the text form
  std::vector<int> values;      // ascending, what enumeration tries
  bool finalists_only = false;  // a compiler knob: never enumerated, only tried around winners
};

struct Config {
  const Family* family = nullptr;
  std::vector<int> values;  // one for each of family->parameters

  // The value of a parameter by name; the family must have it.
  int at(std::string_view parameter) const;
  void set(std::string_view parameter, int value);
  bool operator==(const Config& other) const {
    return family == other.family && values == other.values;
  }
};

// "sm90_ws:m128.n256.k64.s4.w2": family, then code and value of each parameter that differs from
// its default.
std::string to_text(const Config& config);

// The same with only the compile-time parameters: the kernel's identity within its family.
std::string kernel_text(const Config& config);

// "sm90_ws:w2.m128.n256 f16/f32 tn": what is compiled, whatever the architecture.
std::string kernel_name(const Config& config, const Signature& signature);

// Reads to_text's form, or a preset's name, against the registered families (space/family.h).
// Values outside a parameter's list are accepted here; the constraints judge them. Errors:
// kBadInput.
Result<Config> parse_config(std::string_view text, std::span<const Family* const> families);

}  // namespace gemmsmith
