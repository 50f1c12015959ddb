// Compiler logs: any text gives figures, none of them negative, whatever numbers it holds.
#include "compile/compiler_log.h"
#include "fuzz/fuzz.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const compile::LogFigures figures = compile::read_log(fuzz::text_of(data, size));
  fuzz::require(figures.registers >= 0 && figures.static_shared_bytes >= 0 &&
                    figures.spill_bytes >= 0 && figures.stack_bytes >= 0,
                "no figure is negative");
  return 0;
}
