// problem_bench.h -- everything measured of one problem on a GPU: its operands, its tuned cuBLASLt
// baseline, screenings and finals. See docs/measuring.md for the protocol and its reasons.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/range_profiler.h"
#include "measure/gpu_session.h"
#include "measure/pairs.h"
#include "measure/profile.h"
#include "measure/vendor_launches.h"

namespace gemmsmith {

// A config to measure. Kernels of ours are loaded in the session under `hash`; the vendor's configs
// have none.
struct Candidate {
  Config config;
  std::string hash;
  double compile_s = 0;
};

// How a caller follows the work: `begin` names the candidates (indices) that run from now on, and
// that are to blame should the process hang or die; `done` hands over a candidate's rows.
struct BenchEvents {
  std::function<void(std::span<const std::size_t>)> begin;
  std::function<void(std::size_t, std::vector<Measurement>)> done;
};

class ProblemBench {
 public:
  // Fills operands, tunes the baseline and prepares the verifier.
  static Result<std::unique_ptr<ProblemBench>> create(GpuSession& session, const Problem& problem);

  // Fills operands and nothing else: for counting, where nothing may be timed.
  static Result<std::unique_ptr<ProblemBench>> create_untimed(GpuSession& session,
                                                              const Problem& problem);

  const Problem& problem() const { return problem_; }
  // The four, each paired with lt_tuned, back to back or between foreign kernels.
  Result<std::vector<Measurement>> baselines(Setting setting);
  Result<std::vector<Config>> vendor_configs(int limit);
  // `group` candidates are timed in one interleaved sequence. Back to back they are verified first;
  // between foreign kernels is a second look at those that passed. An Error means that nothing more
  // can be measured in this process (session.is_broken()) or that the harness failed.
  Result<void> screen(std::span<const Candidate> candidates, Setting setting,
                      const BenchEvents& events, int group);
  Result<void> finals(std::span<const Candidate> candidates, const BenchEvents& events);

  // A wrong result is a report, not an Error.
  Result<AccuracyReport> accuracy(const Candidate& candidate);
  // The candidate and the four baselines, with the arrivals in common.
  Result<std::vector<ServeReport>> serve(const Candidate& candidate, const ServeSettings& settings,
                                         const std::function<Result<void>()>& after_slice);

  // What NVML says while launches run back to back for `seconds`. `candidate` is given for kinds
  // that have a config. A launch that fails is a report, not an Error, here and in the next.
  Result<LoadReport> sustain(Kind kind, const Candidate* candidate, double seconds);
  // Hardware counters of one launch whose operands are in memory and not in L2.
  Result<CounterReport> count(Kind kind, const Candidate* candidate, RangeProfiler& profiler,
                              CounterScope scope);
  // The same launch between cuProfilerStart and cuProfilerStop, for a profiler outside.
  Result<void> launch_marked(Kind kind, const Candidate* candidate);

  // Pairs two of a candidate's own graphs with each other: what the protocol reports where there
  // is no difference. The row sums up `count` quadruples, which are handed over as well.
  Result<Measurement> pair_with_itself(const Candidate& candidate, Setting setting, int count,
                                       std::vector<Quadruple>& quadruples);

 private:
  // A candidate that has passed so far.
  struct Entry {
    std::size_t index = 0;
    std::unique_ptr<Launch> launch;
    TimedGraph graph;
    Measurement row;
    bool slow = false;
    std::vector<Repeat> repeats;
  };

  ProblemBench(GpuSession& session, const Problem& problem)
      : session_(session), problem_(problem) {}
  Result<void> fill_operands();
  Result<void> tune_baseline();
  Result<double> quick_time(Launch& launch);
  Result<void> capture_baseline();
  Result<void> ensure_foreign();
  const TimedGraph& final_graph() const;
  int foreign_launches() const;

  Measurement row_for(const Candidate& candidate, Stage stage, Setting setting) const;
  Measurement baseline_row(Kind kind, std::string config, Setting setting) const;
  // cuBLAS's own call, ready to be captured or served.
  Result<std::unique_ptr<CublasLaunch>> cublas_launch(Kind kind);
  Result<std::unique_ptr<Launch>> make_launch(const Candidate& candidate);
  Result<std::unique_ptr<Launch>> launch_of(Kind kind, const Candidate* candidate);
  Result<void> flush_l2();
  // Loads its code and raises the clocks.
  Result<void> warm_up(Launch& launch);
  // Verifies; false with `row`'s status and detail set where the candidate failed.
  Result<bool> verified(Launch& launch, Effort effort, Measurement& row, double& launch_us);
  // False with `row` failed where the driver refused the candidate; an Error where that cost the
  // context.
  template <class T>
  Result<bool> charged(const Result<T>& result, Measurement& row) const;
  Result<void> launch_once(Launch& launch);
  // Makes, verifies (chained) and captures; false with the entry's row failed.
  Result<bool> prepare_screening(const Candidate& candidate, Entry& entry);
  Result<void> screen_group(std::span<const Candidate> candidates, std::size_t first,
                            std::size_t count, Setting setting, const BenchEvents& events);
  Result<void> time_group(std::span<Entry> entries, Setting setting);
  // `wanted` quadruples, fewer where they would take too long.
  Result<Measurement> final_row(const Candidate& candidate, Launch& launch, Setting setting,
                                int wanted);
  Result<std::vector<Quadruple>> time_pairs(const TimedGraph& candidate, const TimedGraph& baseline,
                                            const TimedGraph* foreign, int quadruples);
  // One more replay into a poisoned D, then a look at it.
  Result<void> check_after(Launch& launch, const TimedGraph* graph, Measurement& row);
  void apply_floor(Measurement& row) const;
  CacheState cache_of(int launches) const;
  std::string lt_text(const vendor::LtAlgo& algo) const;

  GpuSession& session_;
  Problem problem_;
  OperandLayout layout_;
  std::unique_ptr<vendor::LtMatmul> lt_;
  std::vector<std::unique_ptr<LtLaunch>> algos_;  // the heuristic's, in its order
  std::size_t tuned_ = 0;                         // index of lt_tuned among them
  double tuned_us_ = 0;                           // a launch, chained
  TimedGraph screen_graph_;                       // of lt_tuned
  TimedGraph own_final_graph_;                    // empty where screening's holds as many launches
  TimedGraph foreign_graph_;                      // lt_tuned between foreign passes
  TimedGraph pass_graph_;                         // foreign passes alone
  std::size_t next_timed_ = 0;
};

}  // namespace gemmsmith
