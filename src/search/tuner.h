// tuner.h -- the main job: shapes in, measured candidates and selected plans out, every step in the
// store before the next begins. Killed at any point, the next run goes on where this one stopped.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/bench.h"
#include "policy/network.h"
#include "search/run_id.h"
#include "store/store.h"

namespace gemmsmith {

struct TunerOptions {
  std::string strategy = "evolutionary";  // search/strategy.h
  int budget = 40;                        // our configs screened a problem
  int vendor_budget = 24;                 // vendor configs screened a problem
  int semifinalists = 8;                  // of ours, screened between foreign kernels too
  int vendor_semifinalists = 4;
  int finalists = 2;  // of ours: the best back to back, then the best in both settings
  int vendor_finalists = 1;
  int round = 8;          // configs a screening call; what a kill can lose
  int space_limit = 160;  // ranked configs that the strategy may choose from
  int per_kernel = 3;     // launch-time variants of one kernel among them
  std::uint64_t seed = 1;
  // What the strategy "policy" follows. It searches our configs and the vendor's at once, with both
  // budgets.
  std::shared_ptr<const policy::Network> policy;
  std::string command;  // argv, kept with the run
  std::chrono::seconds lease{300};
  bool compiler_knobs = false;  // after the finals, also try the compiler's on the best of ours
  bool retest_again = false;    // re-test plans that were tested again before
  // Come back to what another process holds until it is done or was given up. Else it is looked at
  // once more (tune) or left to its holder (retest).
  bool wait_for_others = false;
  // Where candidates come from; empty: policy::ranked_configs. A recording offers only what it has.
  std::function<std::vector<Config>(const Problem&)> candidates;
  // Configs that are measured first, the best first; more than will be taken. Empty: none.
  std::function<std::vector<Config>(const Problem&, const Target&)> hints;
  // Identity of a config's kernel, part of a result's key; empty: no identity is kept.
  std::function<std::string(const Config&, const Problem&)> kernel_hash;
};

// What the progress callback is told: after each bench call and at each problem's end.
struct TuneEvent {
  const Problem& problem;
  int index = 0;  // of `total` problems, from 0
  int total = 0;
  std::string stage;  // "baselines", "screen", "vendor", "semifinal", "finals", "knobs",
                      // "selected", "skipped", "failed"
  int measured = 0;   // configs of this problem that have a screening row
  int to_measure = 0;
  std::string text;  // "kernel sm90_ws:... 1.12x", or what failed
};

enum class Outcome { kTuned, kAlreadyDone, kEmpty, kBusy, kFailed };
const char* name(Outcome outcome);  // tuned done empty busy failed

struct ProblemOutcome {
  Problem problem;
  Outcome outcome = Outcome::kTuned;
  std::string error;  // of kFailed
};

struct TuneSummary {
  std::string run;
  std::vector<ProblemOutcome> problems;  // in the order given; those not reached are absent
  bool interrupted = false;
  int count(Outcome outcome) const;
};

// A kernel that tuning may want: compile these before the GPU is there.
struct KernelRequest {
  Config config;  // launch-time parameters at their default
  Signature signature = {};
};

// Makes a bench in a fresh process with `pairs_factor` times the usual pairs.
using BenchFactory = std::function<Result<std::unique_ptr<Bench>>(int pairs_factor)>;

struct RetestOutcome {
  Problem problem;
  Winner winner;  // after the re-test
  bool demoted = false;
  std::string error;  // where the plan could not be tested again
};

struct RetestSummary {
  std::string run;
  std::vector<RetestOutcome> problems;
  bool interrupted = false;
};

using TuneCallback = std::function<void(const TuneEvent&)>;

// Tunes each problem that is not done. A problem that fails costs only itself; an error is returned
// for what stops all work (store, environment).
Result<TuneSummary> tune(Bench& bench, Store& store, std::span<const Problem> problems,
                         const TunerOptions& options, const TuneCallback& callback = {});

// Pairs the selected plan of each problem with lt_tuned again, with the best of ours and of the
// vendor's in each setting beside it (the scoreboard's figures). A plan that has lost, and loses
// once more with four times the pairs, gives way to lt_tuned. Works under the problem's lease: what
// another process holds is left to it.
Result<RetestSummary> retest(const BenchFactory& make_bench, Store& store,
                             std::span<const Problem> problems, const TunerOptions& options,
                             const TuneCallback& callback = {});

// Every kernel that tuning these problems on a target can propose, each once.
std::vector<KernelRequest> kernels_to_prepare(std::span<const Problem> problems,
                                              const Target& target, const TunerOptions& options);

// The environment under which a bench's results are stored.
Environment environment_of(const Bench& bench);

}  // namespace gemmsmith
