#include "compile/wgmma_text.h"

namespace gemmsmith::compile {

namespace {

constexpr int kMaxN = 256;
constexpr int kBlockRows = 64;  // rows of one instruction, and of the smallest share of a consumer

// "%0, %1, ... %(count-1)", or with `operand` given: "\"+f\"(registers[0]), ...".
std::string operand_list(int count, const std::string& before, const std::string& after) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += before + std::to_string(i) + after;
  }
  return text;
}

}  // namespace

int wgmma_n(int tile_m, int tile_n, int consumers, int schedule) {
  const bool cooperative = schedule == 0 && consumers == 2;
  return cooperative && tile_m % (2 * kBlockRows) != 0 ? tile_n / 2 : tile_n;
}

std::string wgmma_text(int n, WgmmaElement element, WgmmaAccumulator accumulator, bool a_along_m,
                       bool b_along_n) {
  if (n < 8 || n > kMaxN || n % 8 != 0) return {};
  const bool f32 = accumulator == WgmmaAccumulator::F32;
  if (!f32 && element != WgmmaElement::F16) return {};

  const int count = f32 ? n / 2 : n / 4;
  const std::string type = element == WgmmaElement::F16 ? "f16" : "bf16";
  const std::string shape =
      "m64n" + std::to_string(n) + "k16." + (f32 ? "f32." : "f16.") + type + "." + type;
  const std::string registers = (f32 ? "float" : "unsigned int");
  const auto operand = [count](int i) { return "%" + std::to_string(count + i); };

  return "// Generated for this config: D += A * B on a 64 x " + std::to_string(n) +
         " block; `accumulate` 0 overwrites it.\n"
         "#pragma once\n"
         "namespace gemmsmith_kernels {\n"
         "__device__ __forceinline__ void wgmma(" +
         registers + " (&registers)[" + std::to_string(count) +
         "], unsigned long long descriptor_a, unsigned long long descriptor_b, int accumulate) {\n"
         "  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, " +
         operand(2) + ", 0;\\n\"\n      \"wgmma.mma_async.sync.aligned." + shape +
         " \"\n      \"{" + operand_list(count, "%", "") + "}, " + operand(0) + ", " + operand(1) +
         ", p, 1, 1, " + (a_along_m ? "1" : "0") + ", " + (b_along_n ? "1" : "0") +
         ";\\n}\"\n      : " +
         operand_list(count, f32 ? "\"+f\"(registers[" : "\"+r\"(registers[", "])") +
         "\n      : \"l\"(descriptor_a), \"l\"(descriptor_b), \"r\"(accumulate));\n"
         "}\n"
         "}  // namespace gemmsmith_kernels\n";
}

}  // namespace gemmsmith::compile
