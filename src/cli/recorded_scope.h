// recorded_scope.h -- what a recorded device can answer: a recording repeats what it has, and
// nothing else can be asked of it. Its shapes and configs are named before anything is tried.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"
#include "device/recorded_device.h"
#include "measure/bench.h"
#include "space/family.h"

namespace gemmsmith::cli {

// The recording behind a bench; null where it answers from elsewhere. Lives as long as the bench.
const RecordedDevice* recording_of(const Bench& bench);

// Configs of one kind that the recording has of a problem: paired in full in both settings
// (Stage::kFinal, those that failed included) or screened back to back; the fastest over lt_tuned
// first. At most `limit`.
Result<std::vector<Config>> recorded_configs(const RecordedDevice& recording,
                                             const Problem& problem, Kind kind, Stage stage,
                                             int limit);

// One sentence before the work: what the recording is, how many of `problems` it has, and what to
// do about the others.
std::string recorded_scope(const RecordedDevice& recording, const std::string& device,
                           const std::vector<Problem>& problems);

}  // namespace gemmsmith::cli
