// run_id.h -- the name of one process run: when, which, and what for. Names sort by time, and a
// table of measurements can tell the run that chose a plan from the one that tested it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gemmsmith {

// kTune: chose among candidates. kRetest: the chosen ones paired again in a fresh process.
// kConfirm: one that seemed to lose, with four times the pairs. kCount: hardware counters, no
// times.
enum class RunPurpose { kTune, kRetest, kConfirm, kCount };
const char* name(RunPurpose purpose);  // tune retest confirm count

// "20260131T120000.123Z-1f3a-tune".
std::string make_run_id(RunPurpose purpose);

// A name that does not end in a known purpose counts as kTune.
RunPurpose run_purpose(std::string_view run);

// "2026-01-31T12:00:00Z", now.
std::string utc_now();

}  // namespace gemmsmith
