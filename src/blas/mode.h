// mode.h -- GEMMSMITH_BLAS: off, observe or on, read once.
#pragma once

namespace gemmsmith::blas {

enum class Mode { kOff, kObserve, kOn };

// `text` null or empty: on. Another word is told of, and off.
Mode parse_mode(const char* text);
Mode mode();

}  // namespace gemmsmith::blas
