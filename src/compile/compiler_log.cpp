// compiler_log.cpp -- the lines it looks for, as ptxas 12.3 to 13.0 print them:
//   ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are
//   serialized...
//       64 bytes stack frame, 128 bytes spill stores, 192 bytes spill loads
//   ptxas info    : Used 168 registers, used 1 barriers, 64 bytes cumulative stack size, 32 bytes
//   smem
#include "compile/compiler_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace gemmsmith::compile {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The number that ends right before `words`, 0 where the line does not hold them.
int number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  std::size_t start = end;
  while (start > 0 && is_digit(line[start - 1])) --start;
  int value = 0;
  std::from_chars(line.data() + start, line.data() + end, value);
  return value;
}

// Whatever numbers a log holds, their sum is a number.
int sum_of(int a, int b) {
  return a > std::numeric_limits<int>::max() - b ? std::numeric_limits<int>::max() : a + b;
}

bool has_serialisation_code(std::string_view line) {
  for (const std::string_view prefix : {"C75", "C76"})
    for (std::size_t at = line.find(prefix); at != std::string_view::npos;
         at = line.find(prefix, at + 1)) {
      const bool starts = at == 0 || std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0;
      if (starts && at + 5 <= line.size() && is_digit(line[at + 3]) && is_digit(line[at + 4]))
        return true;
    }
  return false;
}

}  // namespace

LogFigures read_log(std::string_view log) {
  LogFigures figures;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    figures.registers = std::max(figures.registers, number_before(line, " registers"));
    figures.static_shared_bytes =
        std::max(figures.static_shared_bytes, number_before(line, " bytes smem"));
    figures.stack_bytes = std::max(figures.stack_bytes, number_before(line, " bytes stack frame"));
    for (const char* words : {" bytes spill stores", " bytes spill loads"})
      figures.spill_bytes = sum_of(figures.spill_bytes, number_before(line, words));
    figures.serialised = figures.serialised || has_serialisation_code(line);
  }
  return figures;
}

}  // namespace gemmsmith::compile
