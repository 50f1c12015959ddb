// live_monitor.h -- gemmsmith monitor --attach: follows a process through the file that it shares,
// judges what it timed and gives it orders, until Ctrl-C.
#pragma once

#include <chrono>
#include <string>

#include "base/table.h"
#include "monitor/policy.h"
#include "problem/target.h"

namespace gemmsmith::cli {

struct LiveOptions {
  std::string attach;
  std::chrono::milliseconds interval{100};
  std::string log;     // each decision as a JSON line; "" for none
  std::string record;  // the series; "" for none
  OutputFormat format = OutputFormat::kText;
  bool quiet = false;
};

// Errors: a policy without a rule that can be judged live; a file that is none of a watched
// process, or has a monitor already; a log that cannot be written.
Result<int> monitor_live(const LiveOptions& options, const monitor::Policy& policy,
                         const Target& target);

}  // namespace gemmsmith::cli
