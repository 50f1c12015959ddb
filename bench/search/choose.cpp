// choose.cpp -- how good the kernels are that a policy chooses from a plan table for problems which
// the table has no plan for, and when they can be trusted (plan/kernel_chooser.h). Problems that a
// rule holds out are taken from the table, the policy has not seen them, and what is chosen for
// each is looked up in recordings, or measured.
//
//   search_choose judge   TABLE RULE@POLICY... -- RECORDING...   a summary for each kind of rule
//   search_choose measure TABLE RULE@POLICY...                   on a GPU: a CSV row a trusted
//   choice
//
// Kernels come from the table: measuring compiles only what checks results.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/statistics.h"
#include "base/table.h"
#include "device/recorded_device.h"
#include "measure/worker.h"
#include "measure/worker_bench.h"
#include "plan/kernel_chooser.h"
#include "plan/plan_table_writer.h"
#include "policy/policy_file.h"
#include "support/table_kernels.h"
#include "train/dataset.h"

namespace gemmsmith {
namespace {

struct HeldOut {
  std::string rule;
  Problem problem;
  plan::Evidence evidence;
  std::string config;  // "" where no kernel is legal
  double milliseconds = 0;
};

// Choices for the table's problems that the rule holds out, by a table without them.
Result<std::vector<HeldOut>> choose(const plan::PlanTable& table, const std::string& rule,
                                    const std::string& policy_path) {
  GEMMSMITH_TRY(const train::HoldOut held_out, train::HoldOut::parse(rule));
  GEMMSMITH_TRY(const policy::PolicyFile policy, policy::read_policy(policy_path));
  GEMMSMITH_TRY(Target target, known_target("h200"));
  plan::PlanTableWriter writer({std::string(table.device_name()), table.compute_capability(),
                                table.sm_count(), std::string(table.cublas_version()),
                                std::string(table.compiler_version())});
  std::vector<Problem> problems;
  for (const plan::PlanEntry& entry : table.entries()) {
    // What the policies were trained on, the table's other plans are not.
    const bool is_trained = static_cast<DataType>(entry.key.type) == DataType::kF16 &&
                            static_cast<Layout>(entry.key.layout) == Layout::kTN;
    if (entry.key.follows == 1 || !is_trained) continue;
    GEMMSMITH_TRY(const Problem problem, make_problem(plan::problem_of(entry.key)));
    if (held_out.holds(problem))
      problems.push_back(problem);
    else
      GEMMSMITH_CHECK(writer.add_copy(table, entry));
  }
  GEMMSMITH_TRY(const std::string bytes, writer.bytes());
  GEMMSMITH_TRY(const plan::PlanTable rest, plan::PlanTable::from_bytes(bytes, rule));
  const plan::KernelChooser chooser(rest, policy.network, target);
  std::vector<HeldOut> choices;
  for (const Problem& problem : problems) {
    const auto start = std::chrono::steady_clock::now();
    HeldOut one = {rule, problem, chooser.evidence(problem), "", 0};
    const plan::PlanEntry* const entry = chooser.best_kernel(problem);
    one.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (entry != nullptr) one.config = rest.text(*entry);
    choices.push_back(std::move(one));
  }
  return choices;
}

// Logarithm of the ratio to lt_tuned, over the recordings that know it: paired in full where one
// did, else screened. NaN where none does.
double recorded_gain(const std::vector<RecordedDevice>& recordings, const HeldOut& one,
                     Setting setting) {
  std::vector<double> finals, screens;
  for (const RecordedDevice& recording : recordings)
    for (const Stage stage : {Stage::kFinal, Stage::kScreen})
      if (const Measurement* const row =
              recording.find(one.problem, Kind::kKernel, one.config, stage, setting);
          row != nullptr && row->status == Status::kOk && row->ratio > 0)
        (stage == Stage::kFinal ? finals : screens).push_back(std::log(row->ratio));
  if (!finals.empty()) return median(finals);
  return screens.empty() ? std::nan("") : median(screens);
}

// "random" for random:0/5, "m, n or k" for k=64.
std::string kind_of(const std::string& rule) {
  if (rule.size() > 1 && rule[1] == '=') return "m, n or k";
  return rule.substr(0, rule.find(':'));
}

struct Known {
  double chained = 0, foreign = 0;
  double least() const { return std::min(chained, foreign); }
};

double factor(const std::vector<Known>& known, double (*value)(const Known&)) {
  double sum = 0;
  for (const Known& one : known) sum += value(one);
  return std::exp(sum / static_cast<double>(known.size()));
}

double share_below(const std::vector<Known>& known, double limit) {
  const auto count = std::count_if(known.begin(), known.end(),
                                   [&](const Known& one) { return std::exp(one.least()) < limit; });
  return static_cast<double>(count) / static_cast<double>(known.size());
}

Result<int> judge(const std::vector<HeldOut>& choices, const std::vector<std::string>& paths) {
  std::vector<RecordedDevice> recordings;
  for (const std::string& path : paths) {
    GEMMSMITH_TRY(RecordedDevice recording, RecordedDevice::open(path));
    recordings.push_back(std::move(recording));
  }
  std::map<std::string, std::vector<const HeldOut*>> kinds;
  std::vector<double> milliseconds;
  for (const HeldOut& one : choices) {
    kinds[kind_of(one.rule)].push_back(&one);
    milliseconds.push_back(one.milliseconds);
  }
  Table table({"held out", "problems", "asked gain", "served %", "of them recorded", "back to back",
               "between foreign", "lesser", "5th percentile", "lose > 1 %", "lose > 3 %"});
  for (const auto& [kind, held] : kinds)
    for (const double asked : {0.0, 1.0, 1.01, 1.03, plan::KernelChooser::kLeastGain, 1.08}) {
      std::int64_t served = 0;
      std::vector<Known> known;
      for (const HeldOut* one : held) {
        if (one->config.empty() || one->evidence.doublings > plan::KernelChooser::kMostDoublings ||
            (asked > 0 && one->evidence.sure_gain < std::log(asked)))
          continue;
        ++served;
        const Known gain = {recorded_gain(recordings, *one, Setting::kChained),
                            recorded_gain(recordings, *one, Setting::kForeign)};
        if (std::isfinite(gain.chained) && std::isfinite(gain.foreign)) known.push_back(gain);
      }
      if (known.empty()) continue;
      std::vector<double> least;
      for (const Known& one : known) least.push_back(one.least());
      table.add({kind, static_cast<int>(held.size()), Cell(asked, 2),
                 Cell(100.0 * static_cast<double>(served) / static_cast<double>(held.size()), 1),
                 static_cast<int>(known.size()),
                 Cell(factor(known, [](const Known& k) { return k.chained; }), 3),
                 Cell(factor(known, [](const Known& k) { return k.foreign; }), 3),
                 Cell(factor(known, [](const Known& k) { return k.least(); }), 3),
                 Cell(std::exp(quantile(least, 0.05)), 3), Cell(100 * share_below(known, 0.99), 1),
                 Cell(100 * share_below(known, 0.97), 1)});
    }
  std::cout << table.render(OutputFormat::kText)
            << fmt::format("a choice takes {:.2f} ms in the median, at most {:.2f} ms\n",
                           median(milliseconds), quantile(milliseconds, 1));
  return 0;
}

// Both settings, paired in full; what is not legal or wrong is a row, too.
Result<int> measure(const plan::PlanTable& table, const std::vector<HeldOut>& choices) {
  GEMMSMITH_TRY(std::unique_ptr<KernelProvider> kernels, testing::TableKernels::open(table));
  GEMMSMITH_TRY(const std::unique_ptr<WorkerBench> bench,
                WorkerBench::open(0, BenchSettings{}, std::move(kernels)));
  fmt::print(
      "held_out,shape,config,evidence,status,setting,us,ratio,ratio_low,ratio_high,over_first\n");
  for (const HeldOut& one : choices) {
    if (one.evidence.verdict != plan::Evidence::Verdict::kTrusted || one.config.empty()) continue;
    GEMMSMITH_TRY(const Config config, parse_config(one.config, kernel_families()));
    GEMMSMITH_TRY(const std::vector<Measurement> baselines, bench->baselines(one.problem));
    double first_us = 0;
    for (const Measurement& row : baselines)
      if (row.kind == Kind::kLtFirst) first_us = row.median_us;
    GEMMSMITH_TRY(const std::vector<Measurement> rows,
                  bench->finals(one.problem, std::span(&config, 1)));
    for (const Measurement& row : rows)
      fmt::print(
          "{},{},{},{:.4f},{},{},{:.3f},{:.4f},{:.4f},{:.4f},{:.4f}\n", one.rule,
          shape_name(one.problem), one.config, std::exp(one.evidence.sure_gain), name(row.status),
          name(row.setting), row.median_us, row.ratio, row.ratio_low, row.ratio_high,
          row.setting == Setting::kChained && row.median_us > 0 ? first_us / row.median_us : 0.0);
    if (rows[0].status != Status::kOk)
      fmt::print(stderr, "{} {}: {}\n", shape_name(one.problem), one.config, rows[0].detail);
    std::fflush(stdout);
  }
  return 0;
}

Result<int> run(const std::vector<std::string>& arguments) {
  const auto bar = std::find(arguments.begin(), arguments.end(), "--");
  GEMMSMITH_TRY(const plan::PlanTable table, plan::PlanTable::open(arguments[1]));
  std::vector<HeldOut> choices;
  for (auto argument = arguments.begin() + 2; argument != bar; ++argument) {
    const std::size_t at = argument->find('@');
    if (at == std::string::npos)
      return fail(ErrorCode::kBadInput, "{}: expected RULE@POLICY", *argument);
    GEMMSMITH_TRY(const std::vector<HeldOut> more,
                  choose(table, argument->substr(0, at), argument->substr(at + 1)));
    choices.insert(choices.end(), more.begin(), more.end());
  }
  if (arguments[0] == "measure") return measure(table, choices);
  return judge(choices, bar == arguments.end()
                            ? std::vector<std::string>()
                            : std::vector<std::string>(bar + 1, arguments.end()));
}

}  // namespace
}  // namespace gemmsmith

int main(int count, char** words) {
  // It is its own worker, as `gemmsmith` is.
  if (count > 1 && std::string_view(words[1]) == "worker")
    return gemmsmith::worker_main(count - 1, words + 1);
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 3 || (arguments[0] != "judge" && arguments[0] != "measure")) {
    std::cerr << "usage: search_choose judge TABLE RULE@POLICY... -- RECORDING...\n"
                 "       search_choose measure TABLE RULE@POLICY...\n";
    return 2;
  }
  const auto result = gemmsmith::run(arguments);
  if (!result) std::cerr << result.error().what << "\n";
  return result ? *result : gemmsmith::exit_code(result.error().code);
}
