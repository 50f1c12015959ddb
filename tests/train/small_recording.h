// small_recording.h -- an invented recording: a few problems, real configs, times by a rule that
// can be learnt (larger tiles are faster, in a way that depends on the problem).
#pragma once

#include <cmath>

#include "device/recorded_device.h"
#include "policy/analytic_ranker.h"

namespace gemmsmith::train {

inline std::vector<Measurement> small_recording(int problems, int configs) {
  std::vector<Measurement> rows;
  const Target target = *known_target("h200");
  for (int p = 0; p < problems; ++p) {
    Problem problem;
    problem.m = 256 * (1 + p % 5);
    problem.n = 512 * (1 + p % 3);
    problem.k = 256 * (1 + p % 7);
    problem = *make_problem(problem);
    for (const Config& config : policy::ranked_configs(problem, target, configs, 3)) {
      Measurement row;
      row.problem = problem;
      row.config = to_text(config);
      const double area = config.at("tile_m") * config.at("tile_n");
      row.ratio = 1 / (1 + std::pow(std::log2(area) - 10 - p % 5, 2) / 20);
      row.median_us = 10 / row.ratio;
      row.repeats_us = {row.median_us * 0.999, row.median_us, row.median_us * 1.001};
      rows.push_back(row);
    }
  }
  return rows;
}

inline RecordedDevice device_of(std::vector<Measurement> rows) {
  DeviceInfo info;
  info.target = *known_target("h200");
  return RecordedDevice::from_rows(std::move(rows), info, "{}");
}

}  // namespace gemmsmith::train
