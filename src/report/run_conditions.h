// run_conditions.h -- clocks, power and temperature while a run measured, as its workers sampled
// them: what a reader needs to judge absolute times. Ratios are paired and need none of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gemmsmith::report {

// Of the samples of a run; all 0 where nothing was sampled (no NVML).
struct Range {
  double low = 0;
  double median = 0;
  double high = 0;
};

struct RunConditions {
  std::string id;
  std::string started;  // "2026-01-31T12:00:00Z"
  std::string command;
  Range sm_clock_mhz;
  Range power_w;
  Range temperature_c;
  double power_limit_w = 0;
  int samples = 0;
  int power_capped = 0;    // samples in which the power cap held the clock down
  int heat_throttled = 0;  // samples in which heat did
  int problems = 0;        // that its workers measured
  double empty_us = 0;  // period of an empty kernel; the smallest of its workers, of a replay that
                        // of the recording
};

// From one run's conditions (Bench::conditions). Members that are missing stay 0. Error (kBadInput)
// where the text is no JSON object.
Result<RunConditions> read_conditions(std::string_view conditions);

// The period of an empty kernel in the run that had the shortest; 0 where none measured it.
double smallest_empty_us(std::span<const RunConditions> runs);

// Every run of a recording's sidecar, by id. Error (kBadInput) where the text is no JSON object.
Result<std::vector<RunConditions>> runs_of_sidecar(std::string_view sidecar);

}  // namespace gemmsmith::report
