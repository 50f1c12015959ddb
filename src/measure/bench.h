// bench.h -- where measurements come from. The tuner sees only this: a GPU behind a worker process
// (worker_bench.h), a recording (recorded_bench.h) or a model of a card (model_bench.h) answer it
// alike.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device_info.h"
#include "device/measurement.h"
#include "measure/accuracy.h"
#include "measure/profile.h"
#include "measure/server.h"
#include "space/config.h"
#include "vendor/workspace.h"

namespace gemmsmith {

// Raised whenever the way of measuring changes, so that old and new figures are never mixed.
constexpr int kProtocolVersion = 2;

struct BenchSettings {
  std::uint64_t seed = 1;
  std::int64_t workspace_bytes = vendor::kWorkspaceBytes;  // of every call
  double screen_us = 400;  // GPU time of one screening replay, at least one launch
  int screen_repeats = 3;
  // ABBA quadruples of a finalist in each setting. From 12 to 16 the 95 % interval of a median of
  // order statistics gets no narrower: the third of 12 is where the fourth of 16 is.
  int final_pairs = 12;
  double final_us = 400;            // GPU time of one replay in a pair
  double candidate_timeout_s = 10;  // a candidate that takes longer is killed
  bool verify = true;  // exact integers and the FP64 bound before timing, poison and guards
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual const DeviceInfo& device() const = 0;

  // The four baselines of a problem, in the order cublas, cublas_autotune, lt_first, lt_tuned.
  // lt_tuned's config is the winning algorithm's text.
  virtual Result<std::vector<Measurement>> baselines(const Problem& problem) = 0;

  // At most `limit` legal configs of the vendor's own space, the most promising first.
  virtual Result<std::vector<Config>> vendor_configs(const Problem& problem, int limit) = 0;

  // One screening measurement for each config, in order: few short replays, lt_tuned interleaved.
  // Between foreign kernels this is a second look at configs that passed back to back: they are not
  // verified again. A candidate that fails costs only itself: its status tells.
  virtual Result<std::vector<Measurement>> screen(const Problem& problem,
                                                  std::span<const Config> configs,
                                                  Setting setting) = 0;

  // Full ABBA pairs against lt_tuned: for each config two rows, chained then foreign.
  virtual Result<std::vector<Measurement>> finals(const Problem& problem,
                                                  std::span<const Config> configs) = 0;

  // The four baselines between foreign kernels, in the same order. kUnsupported where that is not
  // known.
  virtual Result<std::vector<Measurement>> foreign_baselines(const Problem&) {
    return needs_gpu("times of the baselines between foreign kernels");
  }

  // Errors against cuBLAS and FP64. kUnsupported where no GPU computes: a recording holds times,
  // not results.
  virtual Result<AccuracyReport> accuracy(const Problem&, const Config&) {
    return needs_gpu("errors of results");
  }

  // Latency under load of a config and of the four baselines, in that order, host path included.
  // kUnsupported where no GPU answers.
  virtual Result<std::vector<ServeReport>> serve(const Problem&, const Config&,
                                                 const ServeSettings&) {
    return needs_gpu("latency under load");
  }

  // Power, energy and clocks of a launch repeated for `seconds`. kUnsupported where no GPU runs.
  virtual Result<LoadReport> sustain(const Problem&, const Subject&, double seconds) {
    static_cast<void>(seconds);
    return needs_gpu("power and clocks");
  }

  // Hardware counters of one launch. A bench that counts must not time: open another for that.
  // kEnvironment where this machine does not let them be read, with the reason; kUnsupported where
  // no GPU runs, and for lt_tuned, whose config must be named.
  virtual Result<CounterReport> count(const Problem&, const Subject&, CounterScope) {
    return needs_gpu("hardware counters");
  }

  // The launch that count() looks at, for a profiler outside (device/profiler_marks.h).
  virtual Result<void> launch_marked(const Problem&, const Subject&) {
    return needs_gpu("launches for a profiler");
  }

  // Protocol, clocks, power, versions so far, as a JSON object's text: the sidecar of what was
  // measured.
  virtual std::string conditions() const = 0;

 private:
  static tl::unexpected<Error> needs_gpu(const char* what) {
    return fail(
        ErrorCode::kUnsupported,
        "{} can only come from a GPU, not from a recording or a model: pass --device cuda:N", what);
  }
};

// "cuda:N", "recorded:FILE" and "model:a100|h100|h200" (need no GPU). Errors: kBadInput for another
// form, kEnvironment.
Result<std::unique_ptr<Bench>> open_bench(const std::string& device, const BenchSettings& settings);

// Whether a device of that name is a GPU: neither a recording nor a model.
bool is_gpu(std::string_view device);

// The card of "model:a100". Errors: kBadInput.
Result<Target> modelled_target(std::string_view device);

// N of "cuda:N". Errors: kBadInput.
Result<int> cuda_ordinal(std::string_view device);

}  // namespace gemmsmith
