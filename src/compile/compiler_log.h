// compiler_log.h -- reads what ptxas says about a kernel (with -v) from NVRTC's program log.
#pragma once

#include <string_view>

namespace gemmsmith::compile {

// Of all functions in the log: the most registers, static shared memory and stack, the sum of
// spills.
struct LogFigures {
  int registers = 0;
  int static_shared_bytes = 0;
  int spill_bytes = 0;  // stores plus loads
  int stack_bytes = 0;
  // ptxas gave a C75xx or C76xx advice: wgmma serialised, setmaxnreg ignored and the like.
  bool serialised = false;
};

LogFigures read_log(std::string_view log);

}  // namespace gemmsmith::compile
