// store.h -- where measurements and winners live: one SQLite file, safe for several processes and
// against kill -9. What a call reports as recorded is on the disk. docs/format_store.md has the
// schema.
//
// Every result carries a checksum: a row whose bytes changed under us is left out (and counted),
// never served as a result.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/counters.h"
#include "device/measurement.h"
#include "problem/problem.h"

namespace gemmsmith {

// Which results may be compared and reused: the same device, driver and libraries
// (DeviceInfo::fingerprint) under the same measuring protocol.
struct Environment {
  std::string fingerprint;
  int protocol = 1;
  bool operator==(const Environment&) const = default;
};

// A measurement and the identity of the kernel that it timed (empty for the vendor's).
struct StoredMeasurement {
  Environment environment;
  std::string kernel_hash;
  Measurement measurement;
};

// Hardware counters of one launch of a config, ours or the vendor's, from a run that timed nothing.
struct StoredCounters {
  Environment environment;
  Problem problem;
  Kind kind = Kind::kKernel;  // or kVendor
  std::string config;
  std::string kernel_hash;  // empty for the vendor's
  std::string run;
  std::string chip;  // CUPTI's name: "GH100"
  int passes = 0;
  int kernels = 0;  // of the launch
  CounterValues values;
};

// Who serves a problem. kLtTuned: nothing beat the tuned library by the selection rule.
enum class WinnerSource { kKernel, kVendor, kLtTuned };
const char* name(WinnerSource source);  // kernel vendor lt_tuned
Result<WinnerSource> parse_winner_source(std::string_view text);

// The plan selected for a problem, with the paired ratios that it was selected by.
struct Winner {
  Problem problem;
  WinnerSource source = WinnerSource::kLtTuned;
  std::string config;       // lt_tuned's own algorithm text where that serves
  std::string kernel_hash;  // empty for the vendor's
  double chained_us = 0;
  double chained_ratio = 1;
  double chained_low = 1;
  double foreign_us = 0;
  double foreign_ratio = 1;
  double foreign_low = 1;
  std::string run;   // the run whose finals decided
  std::string note;  // why, where it is not plain: "demoted: lost the re-test, ..."
};

struct StoredWinner {
  Environment environment;
  Winner winner;
};

// One process run that measured something.
struct Run {
  std::string id;  // search/run_id.h
  Environment environment;
  std::string started;  // "2026-01-31T12:00:00Z"
  std::string command;  // argv, shell-quoted
  std::uint64_t seed = 0;
  std::string conditions;  // JSON object: protocol, versions, clocks, power (Bench::conditions)
};

// How far tuning a problem has come. A problem is done when `budget` measurements were spent on it.
struct Progress {
  std::string stage;  // "baselines", "screen", "finals", "selected", "retested"
  int budget = 0;
  int vendor_budget = 0;
};

// The right to tune one problem, until it expires. Lost when its process dies or lets it expire;
// `token` tells a late writer that someone else has taken over.
struct Lease {
  Problem problem;
  Environment environment;
  std::int64_t token = 0;
};

struct ImportReport {
  std::int64_t runs = 0;
  std::int64_t measurements = 0;
  std::int64_t winners = 0;
  std::int64_t counters = 0;  // launches counted
  std::int64_t already_there = 0;
};

// "64,4096,64,1,f16,f32,tn,...": every field of a problem, exactly; the store's key and its
// inverse.
std::string problem_key(const Problem& problem);
Result<Problem> parse_problem_key(std::string_view text);

class Store {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  // kReadWrite makes a missing file and its folder, and migrates an older schema forward. Errors
  // (kStore): newer schema, another program's file, corrupt, locked, read-only, full, no such
  // folder. `patience`: how long any call waits for a lock that another process holds.
  // (Others hold it for one small transaction at a time, but a slow or busy disk makes them slow,
  // and giving up costs a tuner its run.)
  static Result<Store> open(const std::filesystem::path& path, Mode mode,
                            std::chrono::milliseconds patience = std::chrono::minutes(2));
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;

  Result<void> start_run(const Run& run);
  Result<void> update_conditions(const std::string& run, const std::string& conditions);
  Result<std::vector<Run>> runs() const;

  // All rows in one transaction, durable on return. A row that is there already (same key, same
  // run) is left as it is. `progress`, where given, changes in the same transaction.
  Result<void> record(const Environment& environment, std::span<const StoredMeasurement> rows,
                      const Progress* progress = nullptr);

  // Oldest first.
  Result<std::vector<StoredMeasurement>> measurements(const Environment& environment,
                                                      const Problem& problem) const;
  Result<std::vector<StoredMeasurement>> all_measurements() const;

  // As record(): one transaction, durable on return; a row that is there already stays.
  Result<void> record_counters(std::span<const StoredCounters> rows);
  // Oldest first: of several rows of one config the last is the newest.
  Result<std::vector<StoredCounters>> counters(const Environment& environment,
                                               const Problem& problem) const;
  Result<std::vector<StoredCounters>> all_counters() const;

  Result<std::optional<Progress>> progress(const Environment& environment,
                                           const Problem& problem) const;

  Result<std::optional<Winner>> winner(const Environment& environment,
                                       const Problem& problem) const;
  Result<std::vector<StoredWinner>> winners() const;
  Result<std::vector<Environment>> environments() const;

  // Nothing when a living process holds the problem. A lease of a dead process of this machine, or
  // an expired one, is taken over.
  Result<std::optional<Lease>> acquire(const Environment& environment, const Problem& problem,
                                       std::chrono::seconds duration);
  // False when the lease was lost.
  Result<bool> renew(const Lease& lease, std::chrono::seconds duration);
  Result<void> release(const Lease& lease);

  // Writes the winner, marks the problem selected and gives the lease back, in one transaction.
  // Error (kTimeout) where the lease was lost: then nothing is changed.
  Result<void> finish(const Lease& lease, const Winner& winner, const Progress& progress);

  // Replaces a winner without a lease, whoever may be tuning the problem.
  Result<void> set_winner(const Environment& environment, const Winner& winner,
                          const Progress& progress);

  // JSON Lines: a header, then one line a run, measurement, winner and
  // counted launch. Import checks every line
  // before it changes anything and may be repeated. Both, and export_recording, stop when the user
  // asks (kInterrupted): nothing is then written.
  Result<void> export_json_lines(const std::filesystem::path& path) const;
  Result<ImportReport> import_json_lines(const std::filesystem::path& path);

  // The rows of one environment as a recording (device/recording.h) with its sidecar.
  Result<void> export_recording(const Environment& environment,
                                const std::filesystem::path& path) const;

  // Rows that were left out because their checksum did not match, since opening.
  std::int64_t damaged_rows() const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
