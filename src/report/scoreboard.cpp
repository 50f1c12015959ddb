#include "report/scoreboard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/statistics.h"
#include "measure/floors.h"
#include "search/run_id.h"
#include "search/selection.h"

namespace gemmsmith::report {
namespace {

struct Bucket {
  const char* name;
  double below_us;
};

constexpr std::array<Bucket, 7> kBuckets = {
    {{"<3 us", 3},
     {"3-5 us", 5},
     {"5-10 us", 10},
     {"10-30 us", 30},
     {"30-100 us", 100},
     {"100-1000 us", 1000},
     {">1000 us", std::numeric_limits<double>::infinity()}}};

using ProblemOrder =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, DataType, DataType, Layout, std::int64_t,
               std::int64_t, std::int64_t, float, float, std::array<std::int64_t, 5>, bool>;

ProblemOrder order_of(const Problem& p) {
  return {p.m,         p.n,           p.k,
          p.type,      p.accumulator, p.layout,
          p.lda,       p.ldb,         p.ldd,
          p.alpha,     p.beta,        {p.batch, p.stride_a, p.stride_b, p.stride_c, p.stride_d},
          p.f32_output};
}

bool is_candidate(const Measurement& row) {
  return row.kind == Kind::kKernel || row.kind == Kind::kVendor;
}

Side side_of(const Finalist& finalist) {
  return {finalist.config, finalist.chained.ratio, finalist.foreign.ratio,
          finalist.chained.median_us, finalist.config};
}

// The rows of one problem and what they say.
class ShapeRows {
 public:
  explicit ShapeRows(const std::vector<const Measurement*>& rows) {
    for (const Measurement* row : rows) {
      if (!is_candidate(*row)) {
        baselines_.push_back(*row);
      } else if (row->stage == Stage::kFinal) {
        finals_[row->run].push_back(*row);
      }
    }
  }

  std::optional<ShapeLine> line() const {
    ShapeLine line;
    const Measurement* lt_tuned = baseline(Kind::kLtTuned);
    if (lt_tuned == nullptr) return std::nullopt;
    line.problem = lt_tuned->problem;
    line.lt_tuned_us = lt_tuned->median_us;
    line.lt_tuned_config = lt_tuned->config;
    line.cache = lt_tuned->cache;
    for (const Kind kind : {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst})
      if (const Measurement* row = baseline(kind)) line.baselines[kind] = ratio_of(*row, *lt_tuned);
    line.served = {lt_tuned->config, 1, 1, lt_tuned->median_us, lt_tuned->config};

    line.raw = best_side({Kind::kKernel});
    line.vendor = best_side({Kind::kVendor});
    line.ours_and_vendor = best_side({Kind::kKernel, Kind::kVendor});
    judge_raw(line);
    const std::string choosing = last_run(RunPurpose::kTune);
    if (choosing.empty()) return line;
    if (const auto chosen = served(choosing)) {
      serve(line, *chosen, choosing);
    } else {
      line.retested = last_run(RunPurpose::kRetest) > choosing;
    }
    return line;
  }

 private:
  // A final-stage row where there is one; chained, since that is what the columns show.
  const Measurement* baseline(Kind kind) const {
    const Measurement* best = nullptr;
    for (const Measurement& row : baselines_) {
      if (row.kind != kind || row.status != Status::kOk || row.setting != Setting::kChained)
        continue;
      if (best == nullptr ||
          std::make_pair(row.stage, row.run) >= std::make_pair(best->stage, best->run))
        best = &row;
    }
    return best;
  }

  static double ratio_of(const Measurement& row, const Measurement& lt_tuned) {
    if (row.ratio > 0) return row.ratio;
    return row.median_us > 0 ? lt_tuned.median_us / row.median_us : 0;
  }

  std::string last_run(RunPurpose purpose) const {
    std::string last;
    for (const auto& [run, rows] : finals_)
      if (run_purpose(run) == purpose) last = std::max(last, run);
    return last;
  }

  // By the rules of selection.h, in the last run that measured kernels of ours: a re-test where
  // there was one. A confirmation holds only plans that seemed to lose, not the best of ours.
  void judge_raw(ShapeLine& line) const {
    for (auto run = finals_.rbegin(); run != finals_.rend(); ++run) {
      if (run_purpose(run->first) == RunPurpose::kConfirm) continue;
      const std::vector<Finalist> ours = ranked(run->first, {Kind::kKernel}, Setting::kChained);
      if (ours.empty()) continue;
      const auto won = [](const Finalist& finalist) { return wins(finalist); };
      const auto fell = [](const Finalist& finalist) { return lost(finalist); };
      line.raw_wins = std::any_of(ours.begin(), ours.end(), won);
      line.raw_loses = std::all_of(ours.begin(), ours.end(), fell);
      return;
    }
  }

  // Those of a run that ran without fault, the best in a setting first.
  std::vector<Finalist> ranked(const std::string& run, const std::vector<Kind>& kinds,
                               Setting setting) const {
    std::vector<Finalist> found;
    const auto rows = finals_.find(run);
    if (rows == finals_.end()) return found;
    for (Finalist& finalist : finalists(rows->second))
      if (finalist.ok() && std::find(kinds.begin(), kinds.end(), finalist.kind) != kinds.end())
        found.push_back(std::move(finalist));
    std::stable_sort(found.begin(), found.end(), [&](const Finalist& a, const Finalist& b) {
      return a.ratio_in(setting) > b.ratio_in(setting);
    });
    return found;
  }

  // The best of these kinds in one setting: found best by the run that chose, with the figures of
  // the last run that has such kinds.
  std::optional<Finalist> best(const std::vector<Kind>& kinds, Setting setting) const {
    const std::vector<Finalist> chosen = ranked(last_run(RunPurpose::kTune), kinds, setting);
    for (auto run = finals_.rbegin(); run != finals_.rend(); ++run) {
      if (run_purpose(run->first) == RunPurpose::kConfirm) continue;
      std::vector<Finalist> tested = ranked(run->first, kinds, setting);
      for (const Finalist& choice : chosen)
        for (Finalist& finalist : tested)
          if (finalist.kind == choice.kind && finalist.config == choice.config)
            return std::move(finalist);
      if (!tested.empty()) return std::move(tested.front());
    }
    return std::nullopt;
  }

  std::optional<Side> best_side(const std::vector<Kind>& kinds) const {
    const auto chained = best(kinds, Setting::kChained);
    const auto foreign = best(kinds, Setting::kForeign);
    if (!chained || !foreign) return std::nullopt;
    return Side{chained->config, chained->chained.ratio, foreign->foreign.ratio,
                chained->chained.median_us, foreign->config};
  }

  static bool same_plan(const Finalist& a, const Finalist& b) {
    return a.kind == b.kind && a.config == b.config;
  }

  // Whether a run that judges again what lost its re-test has the plan.
  bool is_confirmed(const Finalist& plan) const {
    const auto confirming = finals_.find(last_run(RunPurpose::kConfirm));
    if (confirming == finals_.end()) return false;
    const std::vector<Finalist> judged = finalists(confirming->second);
    return std::any_of(judged.begin(), judged.end(),
                       [&](const Finalist& finalist) { return same_plan(finalist, plan); });
  }

  // The plan that a run chose. Two that win by ratios equal in a recording's digits are told apart
  // by the re-test: it holds the one that was chosen, and a choice that lost it was judged again.
  std::optional<Finalist> served(const std::string& choosing) const {
    const std::vector<Finalist> winning = winners(finals_.at(choosing));
    if (winning.empty()) return std::nullopt;
    const std::string last = last_run(RunPurpose::kRetest);
    if (last > choosing) {
      const std::vector<Finalist> tested = finalists(finals_.at(last));
      for (const Finalist& candidate : winning)
        for (const Finalist& finalist : tested)
          if (same_plan(candidate, finalist) && (!lost(finalist) || is_confirmed(candidate)))
            return candidate;
    }
    return winning.front();
  }

  // The chosen plan's figures in the last run that has it. Lost twice, it is served no more.
  void serve(ShapeLine& line, const Finalist& chosen, const std::string& choosing) const {
    Finalist last = chosen;
    bool lost_retest = false;
    bool lost_confirmation = false;
    for (const auto& [run, rows] : finals_) {
      const RunPurpose purpose = run_purpose(run);
      if (purpose == RunPurpose::kTune || run < choosing) continue;
      for (const Finalist& finalist : finalists(rows)) {
        if (!same_plan(finalist, chosen)) continue;
        line.retested = true;
        last = finalist;
        (purpose == RunPurpose::kRetest ? lost_retest : lost_confirmation) = lost(finalist);
      }
    }
    if (lost_retest && lost_confirmation) return;
    line.served = side_of(last);
    line.served_kind = chosen.kind;
    line.served_wins = wins(last);
    line.served_loses = lost(last);
    follow(line, last, choosing);
  }

  // Back to back the plan's follower serves: its figures in the re-test, as the plan's.
  void follow(ShapeLine& line, const Finalist& plan, const std::string& choosing) const {
    const std::string last = last_run(RunPurpose::kRetest);
    const auto tested = finals_.find(last);
    const bool is_tested = last > choosing && tested != finals_.end();
    const auto follower = select_follower(
        finals_.at(choosing), plan,
        is_tested ? std::span<const Measurement>(tested->second) : std::span<const Measurement>());
    if (!follower) return;
    line.follower = follower->config;
    line.served.chained = follower->chained.ratio;
    line.served.chained_us = follower->chained.median_us;
  }

  std::vector<Measurement> baselines_;
  std::map<std::string, std::vector<Measurement>> finals_;  // by run, oldest first
};

// Geometric means of what shapes say about themselves; those that say nothing do not count.
template <class Get>
double mean_of(std::span<const ShapeLine* const> lines, Get get) {
  std::vector<double> values;
  for (const ShapeLine* line : lines) {
    const double value = get(*line);
    if (value > 0 && std::isfinite(value)) values.push_back(value);
  }
  return values.empty() ? 0 : geometric_mean(values);
}

double baseline_of(const ShapeLine& line, Kind kind) {
  const auto found = line.baselines.find(kind);
  return found == line.baselines.end() ? 0 : found->second;
}

double over(const ShapeLine& line, Kind kind) {
  const double baseline = baseline_of(line, kind);
  return baseline > 0 ? line.served.chained / baseline : 0;
}

Means means_of(std::span<const ShapeLine* const> lines) {
  const auto chained = [](const std::optional<Side>& side) { return side ? side->chained : 0; };
  const auto foreign = [](const std::optional<Side>& side) { return side ? side->foreign : 0; };
  Means means;
  means.shapes = static_cast<int>(lines.size());
  means.raw = mean_of(lines, [&](const ShapeLine& l) { return chained(l.raw); });
  means.raw_foreign = mean_of(lines, [&](const ShapeLine& l) { return foreign(l.raw); });
  means.vendor = mean_of(lines, [&](const ShapeLine& l) { return chained(l.vendor); });
  means.vendor_foreign = mean_of(lines, [&](const ShapeLine& l) { return foreign(l.vendor); });
  means.ours_and_vendor =
      mean_of(lines, [&](const ShapeLine& l) { return chained(l.ours_and_vendor); });
  means.ours_and_vendor_foreign =
      mean_of(lines, [&](const ShapeLine& l) { return foreign(l.ours_and_vendor); });
  means.served = mean_of(lines, [](const ShapeLine& l) { return l.served.chained; });
  means.served_foreign = mean_of(lines, [](const ShapeLine& l) { return l.served.foreign; });
  means.served_over_cublas =
      mean_of(lines, [](const ShapeLine& l) { return over(l, Kind::kCublas); });
  means.served_over_autotune =
      mean_of(lines, [](const ShapeLine& l) { return over(l, Kind::kCublasAutotune); });
  means.served_over_lt_first =
      mean_of(lines, [](const ShapeLine& l) { return over(l, Kind::kLtFirst); });
  for (const ShapeLine* line : lines) {
    if (line->raw) {
      ++means.with_ours;
      means.raw_wins += line->raw_wins;
      means.raw_losses += line->raw_loses;
    }
    means.served_wins += line->served_wins;
    means.served_losses += line->served_loses;
  }
  return means;
}

}  // namespace

Scoreboard make_scoreboard(std::span<const Measurement> rows) {
  Scoreboard board;
  std::map<ProblemOrder, std::vector<const Measurement*>> by_problem;
  for (const Measurement& row : rows) {
    by_problem[order_of(row.problem)].push_back(&row);
    board.failed += row.status != Status::kOk;
  }
  for (const auto& [order, shape_rows] : by_problem)
    if (auto line = ShapeRows(shape_rows).line()) board.shapes.push_back(std::move(*line));

  std::vector<const ShapeLine*> all;
  for (const ShapeLine& line : board.shapes) {
    all.push_back(&line);
    board.not_retested += !line.retested;
  }
  board.overall = means_of(all);
  double from_us = 0;
  for (const Bucket& bucket : kBuckets) {
    std::vector<const ShapeLine*> inside;
    for (const ShapeLine* line : all)
      if (line->lt_tuned_us >= from_us && line->lt_tuned_us < bucket.below_us)
        inside.push_back(line);
    board.buckets.emplace_back(bucket.name, means_of(inside));
    from_us = bucket.below_us;
  }
  return board;
}

void add_floors(Scoreboard& board, const Target& target, double empty_us) {
  for (ShapeLine& line : board.shapes) {
    line.impossible_floor_us = impossible_floor_us(line.problem, target, line.cache, empty_us);
    line.expected_floor_us = expected_floor_us(line.problem, target, line.cache);
  }
}

}  // namespace gemmsmith::report
