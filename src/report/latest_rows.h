// latest_rows.h -- one board from several recordings.
#pragma once

#include <vector>

#include "device/measurement.h"

namespace gemmsmith::report {

// Each problem's rows from the last of the recordings that holds the problem, in the order of the
// first that does: what was measured again replaces what was measured before, shape by shape and
// whole, so that no ratio is of rows of two runs.
std::vector<Measurement> latest_rows(std::vector<std::vector<Measurement>> recordings);

}  // namespace gemmsmith::report
