// model_error RECORDING... -- how well the models behind --device model:... predict what was
// measured on the card of the recordings: by regime, the interval of measured over predicted time
// that holds 95 % of our kernels and of tuned cuBLASLt; and how well they order our kernels within
// a problem. Prints a Markdown table. No GPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "device/recorded_device.h"
#include "policy/analytic_ranker.h"
#include "space/family.h"
#include "vendor/lt_prediction.h"

namespace gemmsmith {
namespace {

constexpr double kBuckets[] = {3, 5, 10, 30, 100, 1000, std::numeric_limits<double>::infinity()};
constexpr std::size_t kLeastRanked = 10;  // kernels of a problem

struct Prediction {
  double predicted_us = 0;
  double measured_us = 0;
};

struct Predictions {
  std::map<std::string, std::vector<Prediction>> kernels;  // by problem
  std::vector<Prediction> lt_tuned;
};

Result<void> add(const RecordedDevice& device, Predictions& to) {
  const Target& target = device.info().target;
  for (const Measurement& row : device.rows()) {
    if (row.status != Status::kOk || row.setting != Setting::kChained) continue;
    if (row.kind == Kind::kKernel && row.stage == Stage::kScreen) {
      GEMMSMITH_TRY(const Config config, parse_config(row.config, kernel_families()));
      to.kernels[describe(row.problem)].push_back(
          {policy::predicted_us(row.problem, config, target), row.median_us});
    } else if (row.kind == Kind::kLtTuned && row.stage == Stage::kFinal) {
      to.lt_tuned.push_back({vendor::predicted_lt_us(row.problem, target), row.median_us});
    }
  }
  return {};
}

std::vector<double> ratios(const std::vector<Prediction>& of, double from_us, double below_us) {
  std::vector<double> ratios;
  for (const Prediction& p : of)
    if (p.measured_us >= from_us && p.measured_us < below_us)
      ratios.push_back(p.measured_us / p.predicted_us);
  return ratios;
}

std::string interval(const std::vector<double>& values) {
  if (values.empty()) return "| 0 | | ";
  return fmt::format("| {} | {:.2f} | {:.2f} to {:.2f} ", values.size(), median(values),
                     quantile(values, 0.025), quantile(values, 0.975));
}

// Spearman's, and the fastest kernel's time over that of the one predicted to be fastest.
struct Order {
  double correlation = 0;
  double first_choice = 0;
};

Order order_of(const std::vector<Prediction>& kernels) {
  std::vector<double> predicted, measured;
  for (const Prediction& p : kernels) {
    predicted.push_back(p.predicted_us);
    measured.push_back(p.measured_us);
  }
  const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  return {rank_correlation(predicted, measured),
          *std::min_element(measured.begin(), measured.end()) /
              measured[static_cast<std::size_t>(chosen)]};
}

void print(const Predictions& predictions) {
  std::vector<Prediction> kernels;
  std::vector<double> correlations, first_choices;
  for (const auto& [problem, of] : predictions.kernels) {
    kernels.insert(kernels.end(), of.begin(), of.end());
    if (of.size() < kLeastRanked) continue;
    const Order order = order_of(of);
    correlations.push_back(order.correlation);
    first_choices.push_back(order.first_choice);
  }
  fmt::print(
      "| measured us | our kernels | median | 95 % | lt_tuned | median | 95 % |\n"
      "|---|---|---|---|---|---|---|\n");
  double from_us = 0;
  for (const double below_us : kBuckets) {
    fmt::print("| {} {}{}|\n",
               std::isinf(below_us) ? fmt::format("> {:g}", from_us)
                                    : fmt::format("{:g} to {:g}", from_us, below_us),
               interval(ratios(kernels, from_us, below_us)),
               interval(ratios(predictions.lt_tuned, from_us, below_us)));
    from_us = below_us;
  }
  const double all = std::numeric_limits<double>::infinity();
  fmt::print("| all {}{}|\n\n", interval(ratios(kernels, 0, all)),
             interval(ratios(predictions.lt_tuned, 0, all)));
  fmt::print(
      "Within a problem ({} of them): rank correlation {:.2f} in the median (5 %: {:.2f}); the "
      "first "
      "choice reaches {:.3f} of the recorded best in the median (5 %: {:.3f}).\n",
      correlations.size(), median(correlations), quantile(correlations, 0.05),
      median(first_choices), quantile(first_choices, 0.05));
}

int run(int count, char** paths) {
  if (count == 0) {
    fmt::print(stderr, "usage: model_error RECORDING...\n");
    return 2;
  }
  Predictions predictions;
  for (int i = 0; i < count; ++i) {
    const auto device = RecordedDevice::open(paths[i]);
    const auto added =
        device ? add(*device, predictions) : Result<void>(tl::unexpected(device.error()));
    if (!added) {
      fmt::print(stderr, "model_error: {}\n", added.error().what);
      return exit_code(added.error().code);
    }
  }
  print(predictions);
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) { return gemmsmith::run(argc - 1, argv + 1); }
