// policy.h -- what a monitor watches and what it does about it, as a file that people write: rules
// with a metric, a threshold, how long it must hold, what to try in which order, and when to go
// back.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gemmsmith::monitor {

// What can be done about a plan. The first changes its config, the second takes another, the third
// leaves the choice to the library.
enum class Action { kSmallerTileK, kNextPlan, kCublasLt };

const char* name(Action action);  // smaller_tile_k next_plan cublaslt

// A figure that samples may carry.
struct Metric {
  const char* name;  // "l2_miss_pct"
  double least;      // what a threshold may be
  double most;
  const char* meaning;
};
std::span<const Metric> metrics();

struct Rule {
  std::string name;
  std::size_t metric = 0;  // index in metrics()
  bool above = true;       // of the threshold is bad; else below it
  double threshold = 0;
  int after = 3;                  // bad samples in a row before something is done
  double return_at = 0;           // on the good side of this is good again
  int return_after = 10;          // good samples in a row before one step is taken back
  bool unless_throttled = false;  // clocks that are held down make every plan slow
  std::vector<Action> actions;    // in this order, the first that is possible
  int line = 0;                   // where the metric is named, for later errors
  int column = 0;

  bool is_bad(double value) const { return above ? value > threshold : value < threshold; }
  bool is_good(double value) const { return above ? value <= return_at : value >= return_at; }
};

struct Policy {
  std::string source;  // "built in", or the file
  std::vector<Rule> rules;
};

// The mission's: L2 misses above 20 % make tile K smaller by 16 or more, as often as a legal config
// is left, then the next plan, in the end cuBLASLt's heuristic. A plan that is 1.25 times as slow
// as it promised is given up for the next one, unless the clocks are held down.
std::string_view default_policy_text();

// Errors (kBadInput) name file, line and column, what was found and what was expected.
Result<Policy> parse_policy(std::string_view text, const std::string& source);
Result<Policy> read_policy(const std::filesystem::path& path);

}  // namespace gemmsmith::monitor
