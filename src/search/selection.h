// selection.h -- which plan serves a problem, from final-stage rows. A candidate must beat lt_tuned
// by a clear margin back to back and between foreign kernels; otherwise lt_tuned serves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/measurement.h"

namespace gemmsmith {

// A median gain of less than 1 % is a tie, and ties go to lt_tuned.
constexpr double kLeastGain = 1.01;
// Tested again, a plan has lost when the upper end of its interval is below this.
constexpr double kLostBelow = 0.99;

// Both settings of one finalist of one run.
struct Finalist {
  Kind kind = Kind::kKernel;
  std::string config;
  Measurement chained;
  Measurement foreign;

  bool ok() const { return chained.status == Status::kOk && foreign.status == Status::kOk; }
  double ratio_in(Setting setting) const {
    return setting == Setting::kChained ? chained.ratio : foreign.ratio;
  }
  // Geometric mean of the two ratios: what finalists are ordered by.
  double ratio() const;
};

// What screening says of a candidate in both settings.
struct Contender {
  std::string config;
  double chained = 0;
  double foreign = 0;
};

// The `count` of one kind that deserve full pairs, best first: those that promise to win in both
// settings by the geometric mean, then those whose weaker setting is the least bad.
// `with_best_chained` keeps the first place for the best back to back, which may lose the other
// setting: it is what our kernels can do alone. Behind the first place, who is too far behind in
// its weaker setting to win is left out. Ties go to the contender named first.
std::vector<std::string> choose_finalists(std::span<const Contender> contenders, int count,
                                          bool with_best_chained);

// Pairs up final-stage rows of one problem (kernel and vendor kinds only; a config that lacks one
// of its settings is left out), best first: by ratio, then kernel before vendor, then by text.
std::vector<Finalist> finalists(std::span<const Measurement> rows);

// In one setting: the 95 % interval is above 1 and the median gain at least kLeastGain.
bool wins(const Measurement& row);
bool wins(const Finalist& finalist);

// In either setting.
bool lost(const Finalist& finalist);

// The finalists that win, best first. A kernel of ours is worth what it serves between foreign
// kernels and what the best of ours back to back, its follower, does there (select_follower); the
// library's configurations have none.
std::vector<Finalist> winners(std::span<const Measurement> rows);

// The best of them; none: lt_tuned serves.
std::optional<Finalist> select(std::span<const Measurement> rows);

// Our kernel that serves instead of `plan`, one of ours that was selected, right behind another
// kernel of ours: the best back to back, where it wins there and is faster than the plan by
// kLeastGain. It may lose between foreign kernels, where the plan serves. `tested` are the final
// rows of a later run, empty where there was none: what they say of it counts, and of the plan
// beside it; of whom they say nothing is no follower.
std::optional<Finalist> select_follower(std::span<const Measurement> rows, const Finalist& plan,
                                        std::span<const Measurement> tested);

// The finalist of a kind with the highest ratio in one setting, winning or not; it ran without
// fault in both.
std::optional<Finalist> best_in(std::span<const Measurement> rows, Kind kind, Setting setting);

// The best finalist of a kind that ran without fault, winning or not.
std::optional<Finalist> best_of(std::span<const Measurement> rows, Kind kind);

}  // namespace gemmsmith
