// interrupt.h -- Ctrl-C and termination as a flag that long work polls between measurements.
#pragma once

namespace gemmsmith {

// Installs handlers for SIGINT and SIGTERM. The first signal sets the flag; a second one ends the
// process at once with exit code 130.
void catch_interrupts();

bool interrupted();

// For tests and for embedding: as if a signal had come, or as if none had.
void set_interrupted(bool value);

}  // namespace gemmsmith
