// interrupt.h -- Ctrl-C and termination as a flag that long work polls between measurements.
#pragma once

#include <string_view>

#include "base/result.h"

namespace gemmsmith {

// From now on SIGINT and SIGTERM are taken by a thread of their own and blocked in the calling
// thread and in those that it starts: a handler that a library installs meanwhile, as NVRTC does
// while it compiles, never runs. The first signal sets the flag and interrupts the system call that
// the calling thread is in (EINTR); a second one ends the process at once with exit code 130. Call
// it once, before there are other threads.
void catch_interrupts();

// Undoes the blocking in a child process, which inherits it.
void allow_interrupts();

bool interrupted();

// kInterrupted once the user has asked to stop `doing` ("writing FILE"): for work that keeps
// nothing half-done.
Result<void> go_on(std::string_view doing);

// For tests and for embedding: as if a signal had come, or as if none had.
void set_interrupted(bool value);

}  // namespace gemmsmith
