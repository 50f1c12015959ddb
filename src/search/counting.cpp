#include "search/counting.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "search/selection.h"
#include "search/tuning.h"
#include "vendor/all_families.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

// Power is what a kernel settles at, over several of NVML's periods.
constexpr double kEnergySeconds = 0.2;

// What is to be counted of one problem.
struct Job {
  std::size_t index = 0;  // in the problems
  std::vector<Config> configs;
};

Kind kind_of(const Config& config) {
  return vendor::is_vendor(config) ? Kind::kVendor : Kind::kKernel;
}

std::string kernel_hash(const Config& config, const Problem& problem, const TunerOptions& options) {
  if (kind_of(config) == Kind::kVendor || !options.kernel_hash) return {};
  return options.kernel_hash(config, problem);
}

// The plan, its rivals and the baseline, each once, by their configs' texts.
std::vector<std::string> texts_to_count(const Winner& winner,
                                        std::span<const StoredMeasurement> rows) {
  std::vector<std::string> texts = {winner.config};
  const std::string chosen_by = last_final_run(rows, RunPurpose::kTune);
  if (!chosen_by.empty())
    for (const Finalist& finalist : finalists(measurements_of(rows, chosen_by)))
      if (finalist.ok()) texts.push_back(finalist.config);
  for (const StoredMeasurement& row : rows)
    if (row.measurement.kind == Kind::kLtTuned && row.measurement.status == Status::kOk)
      texts.push_back(row.measurement.config);
  std::vector<std::string> once;
  for (std::string& text : texts)
    if (!text.empty() && std::find(once.begin(), once.end(), text) == once.end())
      once.push_back(std::move(text));
  return once;
}

class CounterPass {
 public:
  CounterPass(Store& store, const Environment& environment, std::span<const Problem> problems,
              const TunerOptions& options, const TuneCallback& callback)
      : store_(store),
        environment_(environment),
        problems_(problems),
        options_(options),
        callback_(callback) {}

  Result<CountSummary> run(const BenchFactory& make_bench) {
    GEMMSMITH_TRY(const std::vector<Job> jobs, find_jobs());
    if (jobs.empty()) return summary_;
    if (const Result<void> measured = measure_energies(make_bench, jobs); !measured)
      return give_up(measured.error());
    auto bench = make_bench(1);
    if (!bench) return give_up(bench.error());
    GEMMSMITH_TRY(TuningRun run, TuningRun::start(**bench, store_, options_, RunPurpose::kCount));
    summary_.run = run.id();
    for (const Job& job : jobs) {
      const auto counted = count(run, job);
      if (counted) continue;
      GEMMSMITH_CHECK(give_up(counted.error()));
      break;
    }
    GEMMSMITH_CHECK(run.keep_conditions());
    return summary_;
  }

 private:
  Result<std::vector<Job>> find_jobs() const {
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const Problem& problem = problems_[i];
      GEMMSMITH_TRY(const auto winner, store_.winner(environment_, problem));
      if (!winner) continue;
      GEMMSMITH_TRY(const auto rows, store_.measurements(environment_, problem));
      GEMMSMITH_TRY(const auto known, store_.counters(environment_, problem));
      Job job{i, {}};
      for (const std::string& text : texts_to_count(*winner, rows)) {
        // A text of another program's family cannot be launched by this one.
        auto config = parse_config(text, all_families());
        if (!config) continue;
        const std::string hash = kernel_hash(*config, problem, options_);
        const bool is_known =
            std::any_of(known.begin(), known.end(), [&](const StoredCounters& row) {
              return row.config == text && row.kernel_hash == hash;
            });
        if (!is_known) job.configs.push_back(*std::move(config));
      }
      if (!job.configs.empty()) jobs.push_back(std::move(job));
    }
    return jobs;
  }

  // What the first launch says of a machine without NVML, or without a GPU, all would.
  Result<void> measure_energies(const BenchFactory& make_bench, const std::vector<Job>& jobs) {
    GEMMSMITH_TRY(const std::unique_ptr<Bench> bench, make_bench(1));
    for (const Job& job : jobs)
      for (const Config& config : job.configs) {
        GEMMSMITH_CHECK(check_interrupt());
        const auto load =
            bench->sustain(problems_[job.index], {kind_of(config), config}, kEnergySeconds);
        if (!load && stops_all_work(load.error().code)) return tl::unexpected<Error>(load.error());
        if (!load && load.error().code == ErrorCode::kUnsupported) return {};
        if (load && !load->unavailable.empty()) return {};
        if (load && load->status == Status::kOk && load->energy_uj)
          energies_.emplace(std::pair(job.index, to_text(config)), *load->energy_uj);
      }
    return {};
  }

  // All of a problem's in one transaction.
  Result<void> count(TuningRun& run, const Job& job) {
    const Problem& problem = problems_[job.index];
    std::vector<StoredCounters> rows;
    Result<void> going_on;
    for (const Config& config : job.configs) {
      going_on = check_interrupt();
      if (!going_on) break;
      auto report = run.bench().count(problem, {kind_of(config), config}, CounterScope::kStandard);
      if (!report && stops_all_work(report.error().code)) {
        going_on = tl::unexpected<Error>(report.error());
        break;
      }
      if (!report || report->status != Status::kOk) {
        ++summary_.failed[report ? report->detail : report.error().what];
        continue;
      }
      if (const auto energy = energies_.find({job.index, to_text(config)});
          energy != energies_.end())
        report->values.energy_uj = energy->second;
      rows.push_back({run.environment(), problem, kind_of(config), to_text(config),
                      kernel_hash(config, problem, options_), run.id(), report->chip,
                      report->passes, report->kernels, report->values});
    }
    if (!rows.empty()) GEMMSMITH_CHECK(store_.record_counters(rows));
    summary_.counted += static_cast<int>(rows.size());
    if (going_on && callback_)
      callback_(TuneEvent{problem, static_cast<int>(job.index), static_cast<int>(problems_.size()),
                          "counted", 0, 0, fmt::format("{} launches", rows.size())});
    return going_on;
  }

  // What ends the counting: everything but the store's failures leaves tuning as it was.
  Result<CountSummary> give_up(const Error& error) {
    if (error.code == ErrorCode::kStore) return tl::unexpected<Error>(error);
    if (error.code == ErrorCode::kInterrupted)
      summary_.interrupted = true;
    else
      summary_.unavailable = error.what;
    return summary_;
  }

  Store& store_;
  const Environment& environment_;
  std::span<const Problem> problems_;
  const TunerOptions& options_;
  const TuneCallback& callback_;
  std::map<std::pair<std::size_t, std::string>, double> energies_;  // of a launch, uJ
  CountSummary summary_;
};

}  // namespace

Result<CountSummary> count_finalists(const BenchFactory& make_bench, Store& store,
                                     const Environment& environment,
                                     std::span<const Problem> problems, const TunerOptions& options,
                                     const TuneCallback& callback) {
  return CounterPass(store, environment, problems, options, callback).run(make_bench);
}

}  // namespace gemmsmith
