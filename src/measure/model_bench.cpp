#include "measure/model_bench.h"

#include <nlohmann/json.hpp>

#include "device/device_json.h"
#include "policy/analytic_ranker.h"
#include "space/space.h"
#include "vendor/cublaslt_family.h"
#include "vendor/lt_prediction.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

constexpr const char* kRun = "model";
constexpr std::string_view kPredicted = "predicted, not measured";

Measurement row_of(const Problem& problem, Kind kind, Stage stage, Setting setting, double us,
                   const PredictionInterval& interval) {
  Measurement row;
  row.problem = problem;
  row.kind = kind;
  row.stage = stage;
  row.setting = setting;
  row.run = kRun;
  row.median_us = us;
  row.low_us = us * interval.low;
  row.high_us = us * interval.high;
  row.repeats_us = {us};
  return row;
}

Measurement refused_row(const Problem& problem, Kind kind, const Config& config, Stage stage,
                        Setting setting, std::string why) {
  Measurement row = row_of(problem, kind, stage, setting, 0, {});
  row.config = to_text(config);
  row.status = Status::kLaunch;
  row.repeats_us.clear();
  row.detail = std::move(why);
  return row;
}

// Programmatic launch gains where the launch before is one that lets it start early: not between
// foreign kernels.
Config between_foreign(Config config) {
  config.set("pdl", 0);
  config.set("prefetch", 0);
  return config;
}

}  // namespace

bool is_predicted(std::string_view fingerprint) {
  return fingerprint.find(kPredicted) != std::string_view::npos;
}

ModelBench::ModelBench(const Target& target) {
  info_.target = target;
  info_.compiler_version = kPredicted;
}

Result<std::vector<Measurement>> ModelBench::baselines(const Problem& problem) {
  Measurement row = row_of(problem, Kind::kLtTuned, Stage::kFinal, Setting::kChained,
                           vendor::predicted_lt_us(problem, info_.target), kLtTunedInterval);
  row.ratio = row.ratio_low = row.ratio_high = 1;
  return std::vector<Measurement>{row};
}

Result<std::vector<Config>> ModelBench::vendor_configs(const Problem&, int) {
  return std::vector<Config>{};
}

Measurement ModelBench::predict(const Problem& problem, const Config& config, Stage stage,
                                Setting setting, double lt_us) const {
  if (vendor::is_vendor(config))
    return refused_row(problem, Kind::kVendor, config, stage, setting,
                       "no model knows what is behind an algorithm of cuBLASLt");
  if (const Constraint* const broken = broken_rule({problem, info_.target}, config))
    return refused_row(problem, Kind::kKernel, config, stage, setting,
                       fmt::format("{} ({})", broken->reason, broken->id));
  const double us = policy::predicted_us(
      problem, setting == Setting::kForeign ? between_foreign(config) : config, info_.target);
  Measurement row = row_of(problem, Kind::kKernel, stage, setting, us, kKernelInterval);
  row.config = to_text(config);
  row.ratio = lt_us / us;
  row.ratio_low = row.ratio * kLtTunedInterval.low / kKernelInterval.high;
  row.ratio_high = row.ratio * kLtTunedInterval.high / kKernelInterval.low;
  return row;
}

Result<std::vector<Measurement>> ModelBench::screen(const Problem& problem,
                                                    std::span<const Config> configs,
                                                    Setting setting) {
  const double lt_us = vendor::predicted_lt_us(problem, info_.target);
  std::vector<Measurement> rows;
  for (const Config& config : configs)
    rows.push_back(predict(problem, config, Stage::kScreen, setting, lt_us));
  return rows;
}

Result<std::vector<Measurement>> ModelBench::finals(const Problem& problem,
                                                    std::span<const Config> configs) {
  const double lt_us = vendor::predicted_lt_us(problem, info_.target);
  std::vector<Measurement> rows;
  for (const Config& config : configs)
    for (const Setting setting : {Setting::kChained, Setting::kForeign})
      rows.push_back(predict(problem, config, Stage::kFinal, setting, lt_us));
  return rows;
}

std::string ModelBench::conditions() const {
  const auto of = [](const PredictionInterval& interval) {
    return json{{"low", interval.low}, {"high", interval.high}};
  };
  const json conditions = {
      {"device", json::parse(device_to_json(info_))},
      {"predicted", {{"kernel", of(kKernelInterval)}, {"lt_tuned", of(kLtTunedInterval)}}}};
  return conditions.dump();
}

}  // namespace gemmsmith
