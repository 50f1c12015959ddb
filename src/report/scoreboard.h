// scoreboard.h -- how a table of measurements compares with the library, shape by shape and as
// geometric means, from final-stage rows only: what a run chose is judged by the rows of the run
// that tested it again, so that the luck of the choice does not count.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/measurement.h"
#include "problem/target.h"

namespace gemmsmith::report {

// One side's paired ratio over lt_tuned in both settings; above 1 is faster than lt_tuned. Each
// setting's figure is that of the config which is best there, or serves there.
struct Side {
  std::string config;  // back to back
  double chained = 1;
  double foreign = 1;
  double chained_us = 0;
  std::string foreign_config;
};

struct ShapeLine {
  Problem problem;
  double lt_tuned_us = 0;
  std::string lt_tuned_config;
  CacheState cache = CacheState::kCold;  // of lt_tuned's row, and so of the floors
  double impossible_floor_us = 0;        // back to back; 0 where the device is not known
  double expected_floor_us = 0;
  std::optional<Side> raw;              // our kernels alone
  std::optional<Side> vendor;           // searched vendor configs alone
  std::optional<Side> ours_and_vendor;  // the better of the two
  bool raw_wins = false;                // one kernel of ours wins (selection.h) in both settings
  bool raw_loses = false;               // every one of ours lost
  // The selected plan, 1 where lt_tuned serves. Back to back the figures are the follower's where
  // the plan has one (select_follower in search/selection.h); the config, the figures between
  // foreign kernels, wins and losses are always the plan's.
  Side served;
  std::string follower;  // its config; empty: none
  Kind served_kind = Kind::kLtTuned;
  bool served_wins = false;          // by selection.h, in the last run that tested it
  bool served_loses = false;         // likewise
  bool retested = false;             // the served plan was tested after the run that chose it
  std::map<Kind, double> baselines;  // lt_tuned's time over that baseline's
};

struct Means {
  int shapes = 0;
  int with_ours = 0;                                            // shapes that `raw` covers
  double raw = 0, vendor = 0, ours_and_vendor = 0, served = 0;  // chained
  double raw_foreign = 0, vendor_foreign = 0, ours_and_vendor_foreign = 0, served_foreign = 0;
  double served_over_cublas = 0, served_over_autotune = 0, served_over_lt_first = 0;
  int raw_wins = 0, raw_losses = 0, served_wins = 0, served_losses = 0;
};

struct Scoreboard {
  std::vector<ShapeLine> shapes;  // in order of problem
  Means overall;
  std::vector<std::pair<std::string, Means>> buckets;  // by lt_tuned time: "<3 us", "3-5 us", ...
  int failed = 0;                                      // rows whose status is not ok
  int not_retested = 0;
};

Scoreboard make_scoreboard(std::span<const Measurement> rows);

// The floors of every shape (measure/floors.h) on the device that measured; `empty_us` is the
// period of an empty kernel there, 0 where nobody measured it.
void add_floors(Scoreboard& board, const Target& target, double empty_us);

std::string to_text(const Scoreboard& board);  // for a terminal
std::string to_markdown(const Scoreboard& board);
std::string to_json(const Scoreboard& board);
std::string to_csv(const Scoreboard& board);  // one line a shape

}  // namespace gemmsmith::report
