// last_error.h -- the thread's last error text, and the translation of errors into statuses.
#pragma once

#include <gemmsmith/gemmsmith.h>

#include <string_view>

#include "base/result.h"

namespace gemmsmith::runtime {

// Cuts texts above 1023 bytes. A plain buffer, so that it needs no memory and can be read while a
// thread or the process ends.
void set_last_error(std::string_view text);
const char* last_error();

// Keeps the error's text for gemmsmithGetLastErrorString() and returns its status.
gemmsmithStatus_t report(const Error& error);
gemmsmithStatus_t status_of(ErrorCode code);

}  // namespace gemmsmith::runtime
