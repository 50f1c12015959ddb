// log_sink.h -- where the library's talk goes: to the callback a program set, or nowhere. Nothing
// here allocates or waits, so that a call inside a capture may talk.
#pragma once

#include <gemmsmith/gemmsmith.h>

#include <string>

namespace gemmsmith::runtime {

// For the whole process; null: nowhere. Callbacks that were replaced stay in memory, since another
// thread may be inside one.
void set_log_sink(gemmsmithLogCallback_t callback, void* user);

bool has_log_sink();
void log_to_sink(gemmsmithLogLevel_t level, const std::string& text);

}  // namespace gemmsmith::runtime
