// decision_text.h -- a live decision with the numbers that led to it: a line for people, an object
// for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "monitor/live_shape.h"

namespace gemmsmith::cli {

struct LiveDecision {
  monitor::Decision decision;
  monitor::LiveLook look;
  GpuSample gpu;
};

// "12.35 s 4096_4096_4096: leave sm90_ws:w2.m128.n128.k128.s2 for cublaslt heuristic: ..."
std::string text_of(const LiveDecision& live);
nlohmann::ordered_json json_of(const LiveDecision& live);

}  // namespace gemmsmith::cli
