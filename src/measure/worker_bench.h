// worker_bench.h -- a Bench whose GPU is in another process. It compiles, sends kernels and
// requests, watches the clock and starts a new worker where one hangs, faults or dies; the
// candidate that ran then is the one that failed, and the rest goes on.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measure/bench.h"
#include "measure/kernel_provider.h"
#include "measure/worker_process.h"

namespace gemmsmith {

struct WorkerOptions {
  std::string executable = "/proc/self/exe";
  std::vector<std::string> arguments = {"worker"};
  // What the worker may take to start, and to prepare a problem before its first candidate.
  double prepare_timeout_s = 120;
  int group = 8;  // candidates of one interleaved screening
};

class WorkerBench : public Bench {
 public:
  // Starts the worker and learns the device. Errors: the worker's (no GPU, no cuBLAS), NVRTC's.
  static Result<std::unique_ptr<WorkerBench>> open(int ordinal, const BenchSettings& settings,
                                                   std::unique_ptr<KernelProvider> kernels,
                                                   WorkerOptions options = {});
  ~WorkerBench() override;

  const DeviceInfo& device() const override { return device_; }
  Result<std::vector<Measurement>> baselines(const Problem& problem) override;
  Result<std::vector<Config>> vendor_configs(const Problem& problem, int limit) override;
  Result<std::vector<Measurement>> screen(const Problem& problem, std::span<const Config> configs,
                                          Setting setting) override;
  Result<std::vector<Measurement>> finals(const Problem& problem,
                                          std::span<const Config> configs) override;
  Result<std::vector<Measurement>> foreign_baselines(const Problem& problem) override;
  Result<AccuracyReport> accuracy(const Problem& problem, const Config& config) override;
  Result<std::vector<ServeReport>> serve(const Problem& problem, const Config& config,
                                         const ServeSettings& settings) override;
  Result<LoadReport> sustain(const Problem& problem, const Subject& subject,
                             double seconds) override;
  Result<CounterReport> count(const Problem& problem, const Subject& subject,
                              CounterScope scope) override;
  Result<void> launch_marked(const Problem& problem, const Subject& subject) override;
  std::string conditions() const override;

  int workers_started() const { return workers_started_; }

 private:
  struct Request;
  struct Reply;

  WorkerBench(int ordinal, const BenchSettings& settings, std::unique_ptr<KernelProvider> kernels,
              WorkerOptions options);
  Result<void> ensure_worker();
  Result<void> open_worker();
  // One line and the bytes it announces to the worker, then its "done" or "error"; events in
  // between go to `request`.
  Reply converse(const std::string& line, std::string_view payload, Request& request);
  // Its body, which may throw at fields of a wrong type.
  Reply exchange(const std::string& line, std::string_view payload, Request& request);
  // The same without candidates.
  Result<std::string> ask(const std::string& line, std::string_view payload = {});
  // What a measuring request is called, and the rows that answer it.
  struct Operation {
    const char* name;
    Stage stage;
    Setting setting;  // of screening; finals come in both
  };
  Result<std::vector<Measurement>> measure(const Operation& operation, const Problem& problem,
                                           std::span<const Config> configs);
  Result<std::vector<Measurement>> baselines(const Problem& problem, Setting setting);
  // Puts one config to the worker, with its kernel where that is missing there: `request` gets the
  // problem and the candidate. The content of the worker's "done"; kCompile where the kernel does
  // not compile.
  Result<std::string> ask_about(const Problem& problem, const Config& config,
                                nlohmann::json request);
  // The same of a subject, which may have no config.
  Result<std::string> ask_about(const Problem& problem, const Subject& subject,
                                nlohmann::json request);
  Result<void> send_kernels(const std::vector<std::string>& hashes, Request& request);
  std::vector<Measurement> failed_rows(const Config& config, const Problem& problem,
                                       const Operation& operation, Status status,
                                       const std::string& detail, double compile_s) const;
  void lose_worker();
  void remember_conditions(const std::string& json);
  std::string run_name() const;

  int ordinal_;
  BenchSettings settings_;
  std::unique_ptr<KernelProvider> kernels_;
  WorkerOptions options_;
  DeviceInfo device_;
  std::string architecture_;
  std::string run_;
  std::unique_ptr<WorkerProcess> worker_;
  int workers_started_ = 0;
  std::vector<std::string> conditions_;  // of each worker, the newest it sent
  long timeouts_ = 0;
  long faults_ = 0;
};

}  // namespace gemmsmith
