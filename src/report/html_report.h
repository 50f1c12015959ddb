// html_report.h -- a table of measurements as one HTML file that needs nothing else: no network, no
// server, no program. All figures are in it; the browser only sorts, filters and draws them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device_info.h"
#include "report/learning_curve.h"
#include "report/run_conditions.h"
#include "report/scoreboard.h"

namespace gemmsmith::report {

struct ReportContext {
  std::string source;   // what the rows were read from, as the user named it
  std::string command;  // a line to paste that makes the report again
  DeviceInfo device;
  std::vector<RunConditions> runs;
  std::vector<LearningCurve> curves;
};

// The same bytes for the same arguments: no clock goes in.
std::string to_html(std::span<const Measurement> rows, const Scoreboard& board,
                    const ReportContext& context);

}  // namespace gemmsmith::report
