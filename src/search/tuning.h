// tuning.h -- what tuning and re-testing share: one run's identity, reporting, and bench calls
// whose rows are in the store before they are used.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/selection.h"
#include "search/tuner.h"

namespace gemmsmith {

class TuningRun {
 public:
  // Enters the run into the store.
  static Result<TuningRun> start(Bench& bench, Store& store, const TunerOptions& options,
                                 RunPurpose purpose);

  // The rows as this run's, durable when this returns. An empty stage leaves the problem's
  // progress.
  Result<void> record(const Problem& problem, std::vector<Measurement>& rows,
                      const std::string& stage);

  // Final-stage rows of configs of one problem: measured, recorded, returned.
  Result<std::vector<Measurement>> finals(const Problem& problem,
                                          const std::vector<Config>& configs,
                                          const std::string& stage);

  // Clocks, power and versions so far, into the store.
  Result<void> keep_conditions();

  std::string kernel_hash(const std::string& config, Kind kind, const Problem& problem) const;

  const std::string& id() const { return id_; }
  const Environment& environment() const { return environment_; }
  Bench& bench() { return *bench_; }
  Store& store() { return *store_; }
  const TunerOptions& options() const { return *options_; }

 private:
  TuningRun(Bench& bench, Store& store, const TunerOptions& options, RunPurpose purpose);
  Bench* bench_;
  Store* store_;
  const TunerOptions* options_;
  Environment environment_;
  std::string id_;
};

// kInterrupted when the user asked to stop; polled between bench calls.
Result<void> check_interrupt();

// Returns after a second, in which another process may have finished; kInterrupted as above.
Result<void> wait_for_others();

// Work cannot go on after these, whatever the problem.
bool stops_all_work(ErrorCode code);

// Candidates of a problem as the options say: hints, then the others in analytic order.
struct Candidates {
  std::vector<Config> configs;
  std::size_t hints = 0;  // at the front
};
Candidates candidate_configs(const Problem& problem, const Target& target,
                             const TunerOptions& options);

// The winner that a finalist is, or lt_tuned where nothing won.
Winner winner_of(const Finalist& finalist, const TuningRun& run);
Winner lt_tuned_winner(const Problem& problem, std::span<const StoredMeasurement> rows,
                       const TuningRun& run, std::string note);

// What serves the winner's problem right behind a kernel of ours (select_follower), as a winner of
// its own, by the finals and the re-test among these rows of the problem. None: the winner does.
std::optional<Winner> follower_of(const Winner& winner, std::span<const StoredMeasurement> rows);

// The measurements inside stored rows; of one run where `run` is not empty.
std::vector<Measurement> measurements_of(std::span<const StoredMeasurement> rows,
                                         const std::string& run = {});

// The last run of a purpose that has final-stage rows among these; empty where none has.
std::string last_final_run(std::span<const StoredMeasurement> rows, RunPurpose purpose);

}  // namespace gemmsmith
